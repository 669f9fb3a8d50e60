// The options of the drill, and the choice of the PostgreSQL that has the extension.
import assert from 'node:assert/strict';
import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { UsageError } from '../parse-options.ts';
import { ExtensionMissingError, findBinDir } from './citus/find-bin-dir.ts';
import { readDrillOptions, steps } from './drill-options.ts';

test('options are parsed, and steps run in their own order', () => {
  assert.deepEqual(readDrillOptions(['citus']), { steps, binDir: undefined, seconds: 8 });
  const chosen = ['citus', 'figures', 'routing', '--bin-dir', '/opt/pg/bin', '--seconds', '3'];
  assert.deepEqual(readDrillOptions(chosen), {
    steps: ['routing', 'figures'],
    binDir: '/opt/pg/bin',
    seconds: 3,
  });
  assert.equal(readDrillOptions(['--help']), undefined);
});

test('invalid options are named', () => {
  const wrong = [
    { args: [], message: /the name of the drill is missing/ },
    { args: ['yugabyte'], message: /there is no drill yugabyte/ },
    { args: ['citus', 'reboot'], message: /there is no step reboot/ },
    { args: ['citus', '--seconds', '0'], message: /--seconds/ },
    { args: ['citus', '--seconds', 'x'], message: /--seconds/ },
    { args: ['citus', '--hours', '1'], message: /--hours/ },
  ];
  for (const { args, message } of wrong) {
    assert.throws(
      () => readDrillOptions(args),
      (error) => error instanceof UsageError && message.test(error.message),
      args.join(' '),
    );
  }
});

test('the extension is looked for where pg_config says', () => {
  const folder = mkdtempSync(join(tmpdir(), 'switchyard-drill-test-'));
  try {
    const binDir = join(folder, 'bin');
    const shareDir = join(folder, 'share');
    mkdirSync(binDir);
    const program = join(binDir, 'pg_config');
    const answers = `#!/bin/sh\n[ "$1" = --sharedir ] && echo ${shareDir} || echo ${binDir}\n`;
    writeFileSync(program, answers);
    chmodSync(program, 0o755);
    assert.throws(() => findBinDir(binDir), ExtensionMissingError);
    mkdirSync(join(shareDir, 'extension'), { recursive: true });
    writeFileSync(join(shareDir, 'extension/citus.control'), '');
    assert.equal(findBinDir(binDir), binDir);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
});
