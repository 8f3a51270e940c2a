/* SPDX-License-Identifier: Apache-2.0
 *
 * A Python with libpython.a inside, linked so that PyImport_Inittab is not exported: its built-in
 * hash modules can be reached through sys.modules alone.
 */
int Py_BytesMain(int argc, char **argv);

int main(int argc, char **argv)
{
    return Py_BytesMain(argc, argv);
}
