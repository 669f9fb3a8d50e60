// `switchyard dialect` in this process: checks, explanations and the import of a packager.
import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import {
  builtInHosts,
  compileHost,
  createOperationSamples,
  createPlatformSamples,
  encodeFrame,
  findHostTable,
  hostTableNames,
  type Message,
  sampleTime,
} from '@switchyard/iso8583';
import { run } from '../../command-line/run-command.fixture.ts';

const folder = mkdtempSync(join(tmpdir(), 'switchyard-dialect-'));
after(() => rmSync(folder, { recursive: true }));

function write(name: string, text: string): string {
  const file = join(folder, name);
  writeFileSync(file, text);
  return file;
}

type Explained = {
  messages: {
    message: string;
    elements: {
      offset: number;
      bytes: string;
      field?: string;
      name: string;
      value: string;
      meaning?: string;
      source?: string;
      parts?: { id: string; name: string; value: string }[];
    }[];
  }[];
};

const explainJson = async (...args: string[]) => {
  const { code, stdout, stderr } = await run('--json', 'dialect', 'explain', ...args);
  assert.equal(code, 0, stderr);
  return JSON.parse(stdout) as Explained;
};

// Spec: ACQ-19
test('check reports every mistake of a table with its line and what to do', async () => {
  const file = write(
    'wrong.json',
    `{
  "name": "Wrong",
  "base": "iso1987-ascii",
  "messages": {
    "fields": {
      "60": { "content": "q" }
    }
  },
  "omit": [1],
  "other": 1
}`,
  );
  const { code, stderr, stdout } = await run('dialect', 'check', file);
  assert.equal(code, 2);
  assert.equal(stdout, '');
  assert.match(stderr, /has 4 errors/);
  assert.match(stderr, /line 2: \/name must be small letters, digits and hyphens/);
  assert.match(stderr, /line 6: \/messages\/fields\/60\/content must be one of "n"/);
  assert.match(stderr, /line 9: \/omit\/0 must be a whole number from 2 to 128/);
  assert.match(stderr, /line 10: \/other is not a member here/);
  const contradiction = write(
    'contradiction.json',
    '{ "name": "x", "base": "iso1987-ascii", "messages": { "fields": { "60": { "trim": true } } } }',
  );
  const second = await run('dialect', 'check', contradiction);
  assert.match(second.stderr, /\/messages\/fields\/60 must not have trim/);
  const noJson = await run('dialect', 'check', write('no.json', '{ "name": '));
  assert.equal(noJson.code, 2);
  const missing = await run('dialect', 'check', join(folder, 'missing.json'));
  assert.match(missing.stderr, /the file does not exist/);
});

test('check accepts the tables of the platform, which list names', async () => {
  const listed = await run('dialect', 'list');
  for (const name of hostTableNames) {
    assert.match(listed.stdout, new RegExp(`^${name} +\\S`, 'm'));
    const { code, stdout } = await run('dialect', 'check', name);
    assert.deepEqual([code, stdout], [0, `The host table ${name} is valid.\n`]);
  }
});

test('check mentions a file whose name is not that of the table', async () => {
  const table = '{ "name": "north", "base": "iso1987-ascii" }';
  const other = await run('dialect', 'check', write('south.json', table));
  assert.deepEqual([other.code, other.stdout], [0, 'The host table north is valid.\n']);
  assert.match(other.stderr, /only from a file with the name north\.json/);
  assert.equal((await run('dialect', 'check', write('north.json', table))).stderr, '');
});

// Spec: ACQ-19
test('explain covers each byte of each sample message once', async () => {
  for (const name of hostTableNames) {
    const table = findHostTable(name);
    assert.ok(table);
    const { messages } = await explainJson(name);
    const host = compileHost(table, { now: () => sampleTime });
    const samples = Object.entries<Message>({
      ...createPlatformSamples(table.messages),
      ...createOperationSamples(table.messages),
    });
    assert.deepEqual(
      messages.map(({ message }) => message),
      [...samples.map(([kind]) => kind), 'response', 'key'],
    );
    for (const [kind, sample] of samples) {
      const elements = messages.find(({ message }) => message === kind)?.elements ?? [];
      const bytes = elements.map((element) => element.bytes).join('');
      const message = host.encode(sample);
      const header = host.headers.request(message.length);
      const frame = encodeFrame(host.framing, message, { header });
      // With `IfAssigned` the platform leaves out field 37 of a sale, which the samples have.
      if (table.retrievalReference.inRequests === 'Always')
        assert.equal(bytes, frame.toString('hex').toUpperCase());
      let offset = 0;
      for (const element of elements) {
        assert.equal(element.offset, offset);
        offset += element.bytes.length / 2;
      }
    }
  }
});

test('explain shows built fields, and the numbers that a message takes from its original', async () => {
  const file = write(
    'north.json',
    JSON.stringify({
      name: 'north',
      base: 'iso1987-ascii',
      messages: { fields: { 48: null } },
      omit: [48],
      retrievalReference: { assignedBy: 'Host', inRequests: 'IfAssigned' },
      correlation: { echo: { 37: 'Ignore' } },
      originalData: null,
      contents: { 62: 'orderId' },
      operations: {
        capture: { fromOriginal: [37] },
        refund: { fromOriginal: [37] },
        void: { fromOriginal: [37] },
        reversal: { fromOriginal: [11] },
      },
    }),
  );
  const { messages } = await explainJson(file);
  const fieldValue = (sample: string, field: string) =>
    messages
      .find(({ message }) => message === sample)
      ?.elements.find((element) => element.field === field)?.value;
  assert.deepEqual([fieldValue('sale', '62'), fieldValue('sale', '37')], ['4711', undefined]);
  assert.equal(fieldValue('capture', '37'), '603112900001');
  assert.deepEqual(
    [fieldValue('reversal', '11'), fieldValue('reversal', '37')],
    ['900001', undefined],
  );
  assert.equal(messages.at(-1)?.message, 'response');
});

test('explain states the meaning of values, also of the codes of the host', async () => {
  const { messages } = await explainJson('iso1993-ascii', 'reversal');
  const meanings = new Map(
    messages[0]?.elements.map(({ field, meaning }) => [field, meaning] as const),
  );
  assert.equal(meanings.get('MTI'), 'ISO 8583:1993, reversal, advice, from the acquirer');
  assert.equal(meanings.get('4'), '300000001234 minor units');
  assert.match(
    meanings.get('22') ?? '',
    /^801 for the platform, magnetic stripe after a failed chip/,
  );
  assert.equal(meanings.get('25'), 'no answer in time');
  const text = await run('dialect', 'explain', 'iso1987-binary', 'sale');
  assert.match(text.stdout, /^sale, 92 bytes\n {5}0 {2}00 5A/);
  assert.match(
    text.stdout,
    /^ +21 {2}00 00 00 +3 {2}Processing code \(n 6, BCD\): 000000 · purchase/m,
  );
});

test('explain shows the parts of a field, and computes the authentication code', async () => {
  const table = {
    name: 'parts',
    base: 'iso1987-ascii',
    messages: {
      fields: {
        '48': {
          subFields: {
            type: 'Tags',
            tagSize: 2,
            lengthSize: 2,
            parts: { '92': { name: 'Security code', content: 'n', max: 4 } },
          },
        },
      },
    },
    mac: { algorithm: 'AesCmac', place: 'Last', over: 'BeforeField', messages: 'All' },
  };
  const file = write('parts.json', JSON.stringify(table));
  const { messages } = await explainJson(file, 'keyed');
  const elements = messages[0]?.elements ?? [];
  const parts = elements.find(({ field }) => field === '48')?.parts;
  assert.deepEqual(parts?.at(-1), { id: '92', name: 'Security code', value: '1234' });
  const chip = (await explainJson('iso1987-binary', 'chip')).messages[0]?.elements ?? [];
  assert.deepEqual(chip.find(({ field }) => field === '55')?.parts?.[1], {
    id: '84',
    name: '',
    value: '00000000000000',
  });
  assert.match(elements.find(({ field }) => field === '64')?.value ?? '', /^[0-9A-F]{16}$/);
});

test('explain states the operation of a message and the sources of its fields', async () => {
  const file = write(
    'operations.json',
    JSON.stringify({
      name: 'operations',
      base: 'iso1987-ascii',
      operations: { void: { type: '0200', processingCode: '020000' } },
      contents: { 62: 'orderId' },
      responseContents: { 44: 'addressResult' },
    }),
  );
  const { messages } = await explainJson(file, 'void');
  const elements = messages[0]?.elements ?? [];
  const find = (name: string) => elements.find(({ field }) => field === name);
  assert.equal(find('MTI')?.value, '0200');
  assert.match(find('MTI')?.meaning ?? '', /operation void$/);
  assert.deepEqual([find('62')?.value, find('62')?.source], ['4711', 'orderId']);
  const text = await run('dialect', 'explain', file, 'void');
  assert.match(text.stdout, /4711 · from orderId/);
});

test('explain masks the card data of recorded messages', async () => {
  const host = compileHost(builtInHosts['iso1987-binary'], { now: () => sampleTime });
  const card = '541333008901' + '0012';
  const fields = {
    2: card,
    3: '000000',
    4: '000000001000',
    11: '000001',
    35: `${card}=3012201`,
    48: '9203041',
    60: 'private',
  };
  const frame = encodeFrame(host.framing, host.encode({ mti: '0200', fields })).toString('hex');
  const { stdout, code } = await run(
    'dialect',
    'explain',
    'iso1987-binary',
    '--hex',
    frame + frame,
  );
  assert.equal(code, 0);
  assert.doesNotMatch(stdout.replaceAll(/\s/g, ''), new RegExp(`${card}|${'041'}1000`));
  assert.match(stdout, /541333\*{6}0012/);
  assert.match(stdout, /Track 2 data .*: <24>/);
  assert.match(stdout, /Amount, transaction .*: 000000001000 · 1000 minor units/);
  assert.match(stdout, /^2, \d+ bytes$/m);
  assert.doesNotMatch(stdout, /private\n/);
  const unframed = frame.slice(4);
  const unmaskArgs = ['--hex', unframed, '--no-frame', '--unmask', '60'];
  const unmasked = await run('dialect', 'explain', 'iso1987-binary', ...unmaskArgs);
  assert.match(unmasked.stdout, /: private/);
  assert.doesNotMatch(unmasked.stdout, new RegExp(card));
  for (const [args, message] of [
    [['--hex', frame.slice(0, -2)], /does not allow this message: message_truncated/],
    [['--hex', 'echo'], /even number of hexadecimal digits/],
    [['--hex', frame, '--unmask', '35'], /Field 35 contains card data/],
    [['sale', '--hex', frame], /not both/],
    [['nothing'], /There is no message nothing; the messages are sale, chip/],
  ] as const) {
    const failed = await run('dialect', 'explain', 'iso1987-binary', ...args);
    assert.equal(failed.code, 2, args.join(' '));
    assert.match(failed.stderr, message);
  }
});

test('explain shows what it can read of a message that does not fit the table', async () => {
  const { messages } = await explainJson('iso1987-ascii', '--no-frame', '--hex', '30323030');
  assert.deepEqual(
    messages[0]?.elements.map(({ name, value }) => [name, value]),
    [
      ['Message type', '0200'],
      ['Not readable', 'message_truncated in DE1 at byte 4'],
    ],
  );
});

/** The fields that the messages of the platform have, with the classes of a host in ASCII. */
const packagerFields: readonly (readonly [id: number, length: number, className: string])[] = [
  [0, 4, 'IFA_NUMERIC'],
  [1, 16, 'IFA_BITMAP'],
  [2, 19, 'IFA_LLNUM'],
  [3, 6, 'IFA_NUMERIC'],
  [4, 12, 'IFA_NUMERIC'],
  [7, 10, 'IFA_NUMERIC'],
  [11, 6, 'IFA_NUMERIC'],
  [12, 6, 'IFA_NUMERIC'],
  [13, 4, 'IFA_NUMERIC'],
  [14, 4, 'IFA_NUMERIC'],
  [18, 4, 'IFA_NUMERIC'],
  [22, 3, 'IFA_NUMERIC'],
  [23, 3, 'IFA_NUMERIC'],
  [25, 2, 'IFA_NUMERIC'],
  [28, 9, 'IFA_AMOUNT'],
  [32, 11, 'IFA_LLNUM'],
  [35, 37, 'IFA_LLNUM'],
  [37, 12, 'IF_CHAR'],
  [38, 6, 'IF_CHAR'],
  [39, 2, 'IF_CHAR'],
  [41, 8, 'IF_CHAR'],
  [42, 15, 'IF_CHAR'],
  [48, 999, 'IFA_LLLCHAR'],
  [49, 3, 'IFA_NUMERIC'],
  [52, 8, 'IFA_BINARY'],
  [53, 16, 'IFA_NUMERIC'],
  [54, 120, 'IFA_LLLCHAR'],
  [55, 255, 'IFA_LLLBINARY'],
  [60, 0, 'IF_UNUSED'],
  [64, 8, 'IFA_BINARY'],
  [70, 3, 'IFA_NUMERIC'],
  [90, 42, 'IFA_NUMERIC'],
  [95, 42, 'IF_CHAR'],
  [128, 8, 'IFA_BINARY'],
];

const packagerXml = (extra = ''): string => {
  const lines = packagerFields.map(
    ([id, length, className]) =>
      `  <isofield id="${id}" length="${length}" name="Field ${id}" class="org.jpos.iso.${className}"/>`,
  );
  return [
    '<?xml version="1.0" encoding="UTF-8"?>',
    '<!DOCTYPE isopackager PUBLIC "-//jPOS/jPOS Generic Packager DTD 1.0//EN" "http://jpos.org/dtd/generic-packager-1.0.dtd">',
    '<isopackager>',
    ...lines,
    `${extra}</isopackager>`,
    '',
  ].join('\n');
};

// Spec: ACQ-19
test('import makes a table that passes the check and writes the bytes of the packager', async () => {
  const packager = write('Ascii Host.xml', packagerXml());
  const out = join(folder, 'ascii-host.json');
  const args = ['--packager', packager, '--channel', 'org.jpos.iso.channel.NACChannel'];
  const imported = await run('dialect', 'import', ...args, '--base', 'iso1987-ascii', '--out', out);
  assert.equal(imported.code, 9, imported.stderr);
  assert.match(imported.stderr, /Fields taken over: 31\./);
  assert.match(imported.stderr, /channel NAC: the TPDU is 6000000000; replace it/);
  assert.doesNotMatch(imported.stderr, /To be corrected/);
  assert.equal((await run('dialect', 'check', out)).code, 0);
  const { framing, messages } = JSON.parse(readFileSync(out, 'utf8'));
  assert.deepEqual(framing, { length: 'binary2', tpduBytes: 5, tpdu: '6000000000' });
  assert.equal(messages.fields['60'], null);
  assert.equal(messages.fields['5'], null);
  assert.equal(messages.fields['35'].content, 'z');
  const { messages: explained } = await explainJson(out, 'echo');
  const bytes = explained[0]?.elements.map((element) => element.bytes).join('') ?? '';
  const text = '08008220000000000000040000000000000001311210009000023' + '01';
  assert.equal(bytes, `003C6000000000${Buffer.from(text).toString('hex').toUpperCase()}`);
  assert.equal((await run('dialect', 'import', ...args, '--out', out)).code, 2);
});

test('import without open parts exits with 0 and prints the table', async () => {
  const packager = write('post-host.xml', packagerXml());
  const args = ['--packager', packager, '--channel', 'Post', '--base', 'iso1987-ascii'];
  const { code, stdout, stderr } = await run('dialect', 'import', ...args);
  assert.equal(code, 0, stderr);
  const { name, base, framing } = JSON.parse(stdout);
  assert.deepEqual([name, base, framing], ['post-host', 'iso1987-ascii', { length: 'binary2' }]);
});

test('import lists what it cannot take over, and what the base leaves wrong', async () => {
  const extra = `  <isofield id="61" length="9" name="Own" class="com.example.OwnField"/>\n`;
  const packager = write('own.xml', packagerXml(extra).replace(/.*id="49".*\n/, ''));
  const args = ['--packager', packager, '--channel', 'Post', '--base', 'iso1987-ascii'];
  const { code, stdout } = await run('--json', 'dialect', 'import', ...args);
  assert.equal(code, 9);
  const { openItems, mistakes } = JSON.parse(stdout);
  assert.deepEqual(openItems[0].line, 37);
  assert.equal(openItems[0].subject, 'field 61');
  assert.match(mistakes[0], /^\/messages\/fields\/49 does not allow the sample message/);
});

test('import refuses files that are no packager, and channels that do not exist', async () => {
  for (const [text, message] of [
    ['<isopackager>', /is not XML/],
    ['<other/>', /must have the element <isopackager>, and has <other>/],
    ['<isopackager>\n<isofield id="x"/></isopackager>', /line 2: id="x" must be a whole number/],
    ['<isopackager><isofield id="2"/></isopackager>', /line 1: <isofield> has no length/],
  ] as const) {
    const args = ['--packager', write('bad.xml', text), '--channel', 'Post'];
    const { code, stderr } = await run('dialect', 'import', ...args);
    assert.equal(code, 2);
    assert.match(stderr, message);
  }
  const other = await run('dialect', 'import', '--packager', 'x', '--channel', 'Own');
  assert.equal(other.code, 2);
  assert.match(other.stderr, /The channels are ASCII, Amex/);
});
