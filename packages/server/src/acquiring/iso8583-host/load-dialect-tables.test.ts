import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, unlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { hostTableNames } from '@switchyard/iso8583';
import { createLog, systemClock } from '../../platform/index.ts';
import { createHostTables, type HostTables } from './load-dialect-tables.ts';

const namesOf = (hosts: HostTables) => hosts.reload().map(({ name }) => name);
const builtIn = hostTableNames;

test('changed tables are reloaded, and an invalid table leaves the previous one in use', (t) => {
  const directory = mkdtempSync(join(tmpdir(), 'switchyard-dialects-'));
  t.after(() => rmSync(directory, { recursive: true, force: true }));
  const lines: string[] = [];
  const settings = { logLevel: 'info', instanceName: 'test' } as const;
  const log = createLog(settings, { write: (line: string) => void lines.push(line) });
  const hosts = createHostTables({ directory, clock: systemClock, log });
  const write = (name: string, document: unknown) =>
    writeFileSync(join(directory, name), JSON.stringify(document));
  const table = { name: 'north', base: 'iso1987-binary' };

  assert.deepEqual(namesOf(hosts), builtIn);
  write('north.json', table);
  write('notes.txt', 'no table');
  assert.deepEqual(namesOf(hosts), [...builtIn, 'north']);
  const first = hosts.find('north');
  assert.equal(first?.host.framing.length, 'binary2');
  namesOf(hosts);
  assert.equal(hosts.find('north'), first, 'read once');

  write('north.json', { ...table, framing: { length: 'ascii4' } });
  namesOf(hosts);
  const second = hosts.find('north');
  assert.equal(second?.host.framing.length, 'ascii4');
  assert.notEqual(second?.version, first?.version);

  // An invalid edit: the previous table stays in use, and the log names the error.
  write('north.json', { ...table, framing: { length: 'ascii9' }, more: 'and more' });
  assert.deepEqual(namesOf(hosts), [...builtIn, 'north']);
  assert.equal(hosts.find('north')?.host.framing.length, 'ascii4');
  assert.match(lines.join(''), /\/framing\/length must be one of/);
  const [failure] = lines.map((line) => JSON.parse(line));
  assert.equal(failure.table, join(directory, 'north.json'));
  assert.match(failure.msg, /its links use the previous table, or are unavailable/);

  write('south.json', table);
  write('iso1987-binary.json', { ...table, name: 'iso1987-binary' });
  assert.deepEqual(namesOf(hosts), [...builtIn, 'north']);
  assert.match(lines.join(''), /has the name north, which differs/);
  assert.match(lines.join(''), /has the name of a built-in table/);

  unlinkSync(join(directory, 'north.json'));
  assert.deepEqual(namesOf(hosts), builtIn);
  assert.equal(hosts.find('north'), undefined);
  rmSync(directory, { recursive: true });
  assert.deepEqual(namesOf(hosts), builtIn);
});
