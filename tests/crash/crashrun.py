# SPDX-License-Identifier: MIT
"""What the crash tests share as programs: options, the folder they work in, the ending that CI reads."""

import contextlib
import os
import shutil
import tempfile

TREE = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


def add_options(parser):
    parser.add_argument('--tools', type=os.path.abspath,
                        default=os.environ.get('OURS') or os.path.join(TREE, 'build', 'tools'))
    parser.add_argument('--seed', type=int, default=1)
    parser.add_argument('-j', '--jobs', type=int, default=2)
    parser.add_argument('--scratch', default='/dev/shm' if os.access('/dev/shm', os.W_OK) else None)
    parser.add_argument('--prove', action='store_true', help='ignore flushes: damage must be found')
    parser.add_argument('--keep', action='store_true', help='keep the folders when something failed')


@contextlib.contextmanager
def work_folder(args, name, problems):
    """A folder that goes at the end, unless there are problems and it is to be kept."""
    root = tempfile.mkdtemp(prefix=f'qblock-{name}-', dir=args.scratch)
    yield root
    if args.keep and problems:
        print(f'kept in {root}')
    else:
        shutil.rmtree(root, ignore_errors=True)


def print_problems(problems):
    for text in problems:
        print(text[:2000], flush=True)


def finish(args, looked, problems, is_proof):
    """The last lines and the exit status. With --prove a problem for which @is_proof holds is what has to be there."""
    if args.prove:
        found = sum(map(is_proof, problems))
        print(f'without flushes {found} were found broken')
        print(f'{int(found > 0)} passed, {int(found == 0)} failed, 0 skipped')
        return 0 if found else 1
    print(f'{looked - len(problems)} passed, {len(problems)} failed, 0 skipped')
    return 1 if problems else 0
