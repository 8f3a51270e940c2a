/* SPDX-License-Identifier: Apache-2.0
 *
 * A library with GPU code among its constants, as libtorch has thousands. IMAGE: its file.
 */
__asm__(".section .rodata\n.balign 64\n.globl embedded_image\n.type embedded_image, @object\n"
        "embedded_image:\n.incbin \"" IMAGE
        "\"\n.byte 0\n.size embedded_image, . - embedded_image\n.text\n");
