import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { test } from 'node:test';
import { repositoryRoot } from '../repository-root.ts';

const usage = 'Usage: deploy/make-base-image.sh NAME [SUITE]';

function makeBaseImage(...args: string[]) {
  const script = join(repositoryRoot, 'deploy/make-base-image.sh');
  return spawnSync('sh', [script, ...args], { encoding: 'utf8' });
}

test('make-base-image.sh --help prints the usage', () => {
  const { status, stdout, stderr } = makeBaseImage('--help');
  assert.equal(status, 0);
  assert.ok(stdout.startsWith(`${usage}\n`));
  assert.equal(stderr, '');
});

const wrongUses: readonly (readonly [fault: string, ...args: string[]])[] = [
  ['the name of the image is missing'],
  ['--suite is not an option', '--suite', 'trixie'],
  ['Base is not the name of an image', 'Base'],
  ['localhost/ is not the name of an image', 'localhost/'],
  ['TRIXIE is not a release of Debian', 'localhost:5000/base:1.0-RC1', 'TRIXIE'],
  ['three is one argument too many', 'base', 'trixie', 'three'],
];

for (const [fault, ...args] of wrongUses)
  test(`make-base-image.sh refuses: ${fault}`, () => {
    const { status, stdout, stderr } = makeBaseImage(...args);
    assert.equal(status, 2);
    assert.equal(stdout, '');
    assert.ok(stderr.startsWith(`make-base-image.sh: ${fault}\n\n${usage}\n`), stderr);
  });
