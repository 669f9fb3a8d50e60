// docs/reference/host-tables.md: its tables pass the check, name every member, and its authentication codes are right.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { compileHost, readHostTable } from '@switchyard/iso8583';
import { aesCmac, retailMac } from '@switchyard/pin';
import { repositoryRoot } from '../repository-root.ts';
import { readTableRows } from './read-markdown-table.ts';

const page = readFileSync(join(repositoryRoot, 'docs/reference/host-tables.md'), 'utf8');
const tables = [...page.matchAll(/^```json\n([\s\S]*?)^```$/gm)].map(([, text = '']) =>
  JSON.parse(text),
);

/** The code words in the first cells of the table below a heading. */
const membersUnder = (heading: string): string[] =>
  readTableRows(page, heading).flatMap(([cell = '']) =>
    [...cell.matchAll(/`(.+?)`/g)].map(([, name = '']) => name),
  );

test('the complete table of the page passes the check and has every documented member', () => {
  assert.equal(tables.length, 4);
  for (const document of tables) readHostTable(document);
  const complete = tables.at(-1);
  assert.deepEqual(Object.keys(complete), membersUnder('Members'));
  assert.deepEqual(Object.keys(complete.messages), membersUnder('Encodings and fields'));
  assert.throws(
    () => readHostTable({ ...complete, other: 1 }),
    /the members are name, base, messages, framing.*/,
  );
});

test('each example of a framing and of a correlation passes the check', () => {
  const examples = [...page.matchAll(/^\|.*\| `(\{ "(?:length|echo|fields)".*? \})`.*\|$/gm)].map(
    ([, text = '']) => JSON.parse(text),
  );
  assert.equal(examples.length, 14);
  // A frame without a length needs chip data in characters.
  const messages = { fields: { '55': { encoding: 'hex' } } };
  for (const example of examples) {
    const member = 'length' in example ? { framing: example } : { correlation: example };
    readHostTable({ name: 'example', base: 'iso1987-ascii', messages, ...member });
  }
});

test('a host with its own code 96 answers an unknown outcome, as the page says', () => {
  const document = tables.find(({ name }) => name === 'nord-bank');
  const host = compileHost(readHostTable(document), { now: Date.now });
  const wire = compileHost(readHostTable({ name: 'wire', base: document.base }), { now: Date.now });
  const read = (mti: string, code: string) =>
    host.decode(wire.encode({ mti, fields: { 11: '000001', 39: code } })).fields[39];
  assert.deepEqual(
    [read('0210', '96'), read('0430', '96'), read('0210', 'P1')],
    ['68', '68', '55'],
  );
});

test('the authentication codes of the page follow from its key and message', () => {
  const key = Buffer.from(/The key is `([0-9A-F]+)`/.exec(page)?.[1] ?? '', 'hex');
  const textAfter = (name: string) => new RegExp(`^${name} +(\\S+)$`, 'm').exec(page)?.[1];
  const algorithms = { Iso9797Alg3: retailMac, AesCmac: aesCmac };
  for (const [algorithm, compute] of Object.entries(algorithms)) {
    const mac = { algorithm, place: 'Last', over: 'BeforeField', messages: 'All' };
    const table = readHostTable({ name: 'example', base: 'iso1987-ascii', mac });
    const fields = { 7: '0131120060', 11: '000001', 70: '001' };
    const { over, seal } = compileHost(table, { now: Date.now }).encodeWithoutMac({
      mti: '0800',
      fields,
    });
    assert.equal(over.toString('latin1'), textAfter('bytes'));
    const code = compute(key, over).subarray(0, 8);
    assert.equal(code.toString('hex').toUpperCase(), textAfter(algorithm));
    assert.equal(seal(code).toString('latin1'), `${textAfter('bytes')}${textAfter(algorithm)}`);
  }
});
