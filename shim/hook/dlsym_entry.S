/* SPDX-License-Identifier: Apache-2.0
 *
 * void *dlsym(void *handle, const char *name)
 *
 * Lookups that depend on who calls (RTLD_DEFAULT is 0, RTLD_NEXT is -1) and everything while the
 * library is off jump to libc's dlsym with the arguments and the return address as they came.
 */
#define RS_ON 2

    .text
    .globl  dlsym
    .type   dlsym, %function
    .hidden rs_phase
    .hidden rs_dlsym_real
    .hidden rs_dlsym_resolve
    .hidden rs_dlsym_on_handle
    .p2align 4

#if defined(__x86_64__)

dlsym:
    .cfi_startproc
    endbr64
    leaq    1(%rdi), %rax
    cmpq    $1, %rax
    jbe     .Lreal
    cmpl    $RS_ON, rs_phase(%rip)
    je      rs_dlsym_on_handle
.Lreal:
    movq    rs_dlsym_real(%rip), %rax
    testq   %rax, %rax
    je      .Lresolve
    jmp     *%rax
.Lresolve:
    subq    $24, %rsp
    .cfi_adjust_cfa_offset 24
    movq    %rdi, (%rsp)
    movq    %rsi, 8(%rsp)
    call    rs_dlsym_resolve
    movq    (%rsp), %rdi
    movq    8(%rsp), %rsi
    addq    $24, %rsp
    .cfi_adjust_cfa_offset -24
    testq   %rax, %rax
    je      .Lnone
    jmp     *%rax
.Lnone:
    ret
    .cfi_endproc
    .size   dlsym, . - dlsym

/* Fit for indirect branch tracking and shadow stacks. */
    .section .note.gnu.property, "a"
    .p2align 3
    .long   4, 16, 5
    .asciz  "GNU"
    .long   0xc0000002, 4, 3, 0

#elif defined(__aarch64__)

dlsym:
    .cfi_startproc
    hint    #34                         /* bti c */
    add     x9, x0, #1
    cmp     x9, #1
    b.ls    .Lreal
    adrp    x10, rs_phase
    ldr     w9, [x10, #:lo12:rs_phase]
    cmp     w9, #RS_ON
    b.ne    .Lreal
    b       rs_dlsym_on_handle
.Lreal:
    adrp    x10, rs_dlsym_real
    ldr     x16, [x10, #:lo12:rs_dlsym_real]
    cbz     x16, .Lresolve
    br      x16                         /* x16 and x17 may land on "bti c" */
.Lresolve:
    stp     x29, x30, [sp, #-32]!
    .cfi_adjust_cfa_offset 32
    .cfi_offset x29, -32
    .cfi_offset x30, -24
    stp     x0, x1, [sp, #16]
    bl      rs_dlsym_resolve
    mov     x16, x0
    ldp     x0, x1, [sp, #16]
    ldp     x29, x30, [sp], #32
    .cfi_adjust_cfa_offset -32
    .cfi_restore x29
    .cfi_restore x30
    cbz     x16, .Lnone
    br      x16
.Lnone:
    mov     x0, #0
    ret
    .cfi_endproc
    .size   dlsym, . - dlsym

/* Fit for branch target identification. */
    .section .note.gnu.property, "a"
    .p2align 3
    .long   4, 16, 5
    .asciz  "GNU"
    .long   0xc0000000, 4, 1, 0

#else
#error "rankshare knows x86-64 and aarch64"
#endif

    .section .note.GNU-stack, "", %progbits
