// `switchyard acquirer compare` with traffic that was recorded at the acquirer simulator.
import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, test } from 'node:test';
import { builtInHosts, type HostTable, type Message, readHostTable } from '@switchyard/iso8583';
import { runWith } from '../../../packages/cli/src/command-line/run-command.fixture.ts';
import { serverCommands } from '../server-commands.ts';
import type { ComparedMessage } from './compare-messages.ts';
import type { ComparisonReport } from './format-summary.ts';
import {
  allKinds,
  type ChangeMessage,
  cardData,
  createFrameWriter,
  createPayments,
  recordTraffic,
} from './gateway-traffic.fixture.ts';
import {
  createTestConnection,
  jsonLines,
  pcapFile,
  type TestMessage,
} from './trace-writer.fixture.ts';

const folder = mkdtempSync(join(tmpdir(), 'compare-gateway-'));
after(() => rmSync(folder, { recursive: true }));

let files = 0;
function writeTrace(content: string | Buffer): string {
  files += 1;
  const file = join(folder, `trace-${files}`);
  writeFileSync(file, content);
  return file;
}

/** Runs the command; no output may have card data. */
async function runCompare(...args: string[]) {
  const result = await runWith(['acquirer', 'compare', ...args], { serverCommands });
  for (const secret of cardData) {
    assert.ok(!result.stdout.includes(secret), 'card data on stdout');
    assert.ok(!result.stderr.includes(secret), 'card data on stderr');
  }
  return result;
}

async function compare(messages: readonly TestMessage[], dialect: string, ...args: string[]) {
  const file = writeTrace(jsonLines(messages));
  const out = join(folder, `report-${files}.jsonl`);
  const options = ['--trace', file, '--dialect', dialect, '--out', out, ...args];
  const { stdout, stderr, code } = await runCompare('--json', ...options);
  assert.equal(stderr, '');
  const lines = readFileSync(out, 'utf8');
  for (const secret of cardData) assert.ok(!lines.includes(secret), 'card data in the report');
  const report = JSON.parse(stdout) as ComparisonReport;
  const compared = lines
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line) as ComparedMessage);
  // The text has the same figures, and no card data either.
  const text = await runCompare('--trace', file, '--dialect', dialect, ...args);
  assert.equal(text.code, code);
  assert.match(text.stdout, new RegExp(`^${report.differing} of ${report.checked} messages`, 'm'));
  return { report, compared, code, text: text.stdout };
}

/** Fields that differ: number and counts. */
const differences = ({ fields }: ComparisonReport) =>
  fields
    .filter(({ different, missing, additional }) => different + missing + additional > 0)
    .map(({ field, different, missing, additional }) => [field, different, missing, additional]);

const reasons = ({ reasons: all }: ComparisonReport) =>
  all.map(({ result, reason, count }) => `${count} ${result}: ${reason}`);

const custom: HostTable = {
  ...builtInHosts['iso1987-binary'],
  name: 'north-bank',
  messages: {
    ...builtInHosts['iso1987-binary'].messages,
    bitmap: 'hex',
    fields: {
      ...builtInHosts['iso1987-binary'].messages.fields,
      60: { name: 'Reason', content: 'n', size: 'fixed', max: 4 },
    },
  },
  framing: { length: 'bcd2', inclusive: true, tpduBytes: 5, tpdu: '6000010000' },
  reversalReasons: { field: 60, codes: { '4000': '0017', '4021': '0068' }, otherwise: '0022' },
  constants: { 24: '077' },
};

function writeTable(table: HostTable): string {
  const { messages, reversalReasons, framing, constants, mac, name } = table;
  const document = {
    name,
    base: 'iso1987-binary',
    framing,
    messages: { bitmap: messages.bitmap, fields: { 60: messages.fields[60] } },
    reversalReasons,
    constants,
    mac,
  };
  const file = join(folder, `${table.name}.json`);
  writeFileSync(file, JSON.stringify(document));
  return file;
}

/** The base table with members of a table file. */
function readTable(document: Record<string, unknown>): { table: HostTable; dialect: string } {
  const file = join(folder, `${String(document['name'])}.json`);
  writeFileSync(file, JSON.stringify(document));
  return { table: readHostTable(document), dialect: file };
}

describe('switchyard acquirer compare', () => {
  for (const [name, table] of Object.entries({ ...builtInHosts, 'north-bank': custom })) {
    test(`messages of every kind that the platform built are equal (${name})`, async () => {
      const dialect = table === custom ? writeTable(custom) : name;
      const payments = allKinds();
      const messages = await recordTraffic(payments, { table });
      const { report, compared, code } = await compare(messages, dialect);
      assert.deepEqual(differences(report), []);
      assert.deepEqual(reasons(report), []);
      const operations = compared
        .filter(({ direction }) => direction === 'ToHost')
        .map(({ operation }) => operation);
      assert.deepEqual(operations, ['Network', ...payments.map(({ kind }) => kind), 'Network']);
      assert.equal(report.results.Equal, payments.length + 2);
      assert.equal(report.results.Approved + report.results.Declined, payments.length + 2);
      assert.ok(report.results.Approved > payments.length / 2);
      assert.deepEqual([report.unanswered, report.lateResponses], [0, 0]);
      assert.equal(code, 0);
    });
  }

  test('a host with its own message types, and with its own retrieval reference numbers', async () => {
    const tables = [
      {
        name: 'own-operations',
        base: 'iso1987-ascii',
        operations: {
          capture: { type: '0200', processingCode: '000001' },
          void: { type: '0200', processingCode: '020000' },
          reversal: { type: '0400' },
        },
      },
      {
        name: 'own-references',
        base: 'iso1987-ascii',
        retrievalReference: {
          assignedBy: 'Host',
          inRequests: 'IfAssigned',
          pattern: 'year:1 day:3 hour:2 stan:6',
        },
        correlation: { echo: { '37': 'Ignore' } },
      },
    ];
    for (const document of tables) {
      const { table, dialect } = readTable(document);
      const messages = await recordTraffic(allKinds(), { table });
      const { report } = await compare(messages, dialect);
      assert.deepEqual(differences(report), [], document.name);
      assert.deepEqual(reasons(report), [], document.name);
      assert.equal(report.results.Equal, allKinds().length + 2);
    }
  });

  // Spec: ACQ-21
  test('a gateway that differs: each field with counts and one example without card data', async () => {
    const change: ChangeMessage = ({ mti, fields }, direction) => {
      if (direction === 'FromHost' || mti.startsWith('08')) return { mti, fields };
      const { 18: _mcc, ...others } = fields;
      const changed: Message['fields'] = { ...others, 22: '052', 60: 'BATCH1', 14: '2912' };
      return { mti: mti === '0420' ? '0400' : mti, fields: changed };
    };
    const payments = allKinds();
    const table = builtInHosts['iso1987-ascii'];
    const messages = await recordTraffic(payments, { table, change });
    const { report, compared, code, text } = await compare(messages, 'iso1987-ascii');
    assert.equal(code, 8);
    const sent = payments.length;
    assert.deepEqual(differences(report), [
      [0, 3, 0, 0],
      [18, 0, 0, sent],
      [22, sent, 0, 0],
      [60, 0, sent, 0],
    ]);
    const example = (number: number) => {
      const { recorded, platform } =
        report.fields.find(({ field }) => field === number)?.example ?? {};
      return [recorded, platform];
    };
    assert.deepEqual(example(0), ['0400', '0420']);
    assert.deepEqual(example(18), [undefined, 'a value of the platform']);
    assert.deepEqual(example(22), ['052', '051']);
    assert.deepEqual(example(60), ['<6>', undefined]);
    assert.match(text, /22 +Point of service entry mode +0 +12 +0 +0 +052 \/ 051 \(line 3\)/);
    const [, , sale] = compared;
    assert.equal(sale?.operation, 'Sale');
    assert.equal(sale?.result, 'Different');
    const [amount] = sale?.fields?.filter(({ field }) => field === 4) ?? [];
    assert.deepEqual([amount?.status, amount?.platform], ['Equal', '000000001250']);

    const ignored = await compare(
      messages,
      'iso1987-ascii',
      '--ignore',
      '18,22,60',
      '--tolerance',
      '12%',
    );
    assert.deepEqual(differences(ignored.report), [[0, 3, 0, 0]]);
    assert.equal(ignored.code, 0);
    const strict = await compare(
      messages,
      'iso1987-ascii',
      '--ignore',
      '18,22,60',
      '--tolerance',
      '5',
    );
    assert.equal(strict.code, 8);
  });

  test('card data that differs is described by its position and its tags, in every field', async () => {
    const [number = ''] = cardData;
    const change: ChangeMessage = (message, direction) => {
      const { 35: track, 48: securityCode, 55: chip } = message.fields;
      if (direction === 'FromHost' || (chip === undefined && securityCode === undefined))
        return message;
      const fields: Message['fields'] = { ...message.fields, 43: `till of ${number}`.padEnd(40) };
      if (securityCode !== undefined) fields[48] = `${securityCode}9304ABCD`;
      if (track !== undefined) fields[35] = `${track.slice(0, -1)}9`;
      if (chip !== undefined)
        fields[55] = `${chip.replace('9F3303E0F0C8', '9F3303E0F0C0').replace('9C0100', '')}DF010412345678`;
      return { ...message, fields };
    };
    const messages = await recordTraffic(allKinds(), {
      table: builtInHosts['iso1987-binary'],
      change,
    });
    const { report } = await compare(messages, 'iso1987-binary');
    const examples = report.fields.flatMap(({ field, example }) =>
      example === undefined ? [] : [[field, example.recorded, example.platform, example.detail]],
    );
    // The platform sends the track and the tags of the card: only tags that it never sends are missing.
    assert.deepEqual(examples, [
      [43, '[card data]', undefined, undefined],
      [48, '<30>', '<22>', 'from character 23'],
      [55, '<162>', '<148>', 'missing tags DF01'],
    ]);
  });

  // Spec: ACQ-21
  test('responses that the platform would not accept, with the reason', async () => {
    const changes: Record<string, (fields: Message['fields']) => Message['fields']> = {
      '000001': (fields) => ({ ...fields, 3: '003000' }),
      '000002': (fields) => ({ ...fields, 11: '777777' }),
      '000003': (fields) => ({ ...fields, 39: 'ZZ' }),
      '000004': (fields) => ({ ...fields, 39: '68' }),
      '000005': ({ 39: _code, ...fields }) => fields,
      '000006': (fields) => ({ ...fields, 4: '000000000001' }),
      '000007': (fields) => ({ ...fields, 42: 'ANOTHERMERCHANT' }),
    };
    const { payment } = createPayments();
    const payments = Array.from({ length: 8 }, () => payment('Sale'));
    const table = builtInHosts['iso1987-binary'];
    const messages = await recordTraffic(payments, {
      table,
      change: ({ mti, fields }, direction) => ({
        mti,
        fields: direction === 'ToHost' ? fields : (changes[fields[11] ?? '']?.(fields) ?? fields),
      }),
    });
    // The last response arrives after the timeout.
    const last = messages.at(-3);
    assert.equal(last?.direction, 'FromHost');
    const late = messages.map((each) =>
      each === last ? { ...each, atMs: each.atMs + 11_000 } : each,
    );
    const { report, code } = await compare(late, 'iso1987-binary');
    assert.deepEqual(reasons(report).sort(), [
      '1 Refused: field 3 does not match the request',
      '1 Refused: field 4 does not match the request',
      '1 Refused: field 42 does not match the request',
      '1 Refused: the response code 68 says that the host may have booked the payment',
      '1 Refused: the response code ZZ is in no table (responseCodes)',
      '1 Refused: the response has no response code (39)',
      '1 Unmatched: no request has the same numbers: the platform would ignore the response',
    ]);
    assert.deepEqual(differences(report), []);
    assert.deepEqual([report.unanswered, report.lateResponses], [1, 1]);
    assert.equal(code, 8);
  });

  test('messages that the platform does not send, and messages without enough data', async () => {
    const table = builtInHosts['iso1987-binary'];
    const writer = createFrameWriter({ table });
    const { payment, followUp } = createPayments();
    const sale = payment('Sale');
    const settlement = { mti: '0500', fields: { 7: '1129231500', 11: '000500', 50: '978' } };
    const voided = createFrameWriter({
      table,
      change: ({ fields }) => ({ mti: '0200', fields: { ...fields, 3: '020000' } }),
    });
    const unknownSale = createFrameWriter({
      table,
      change: ({ mti, fields: { 90: _original, ...fields } }) => ({ mti, fields }),
    });
    const frames = [
      writer.encodePayment(sale),
      writer.encodePayment({
        ...sale,
        reference: { ...sale.reference, mti: '0200' },
        repeat: true,
      }),
      writer.encodeMessage(settlement),
      voided.encodePayment(followUp('Reversal', sale, { reversalReason: 'CustomerCancel' })),
      unknownSale.encodePayment(
        followUp('Capture', createPayments('TERM0009').payment('Authorization')),
      ),
    ];
    const messages = frames.map((frame, at) => ({ direction: 'ToHost' as const, atMs: at, frame }));
    const { report, compared } = await compare(messages, 'iso1987-binary');
    assert.deepEqual(
      compared.map(({ result }) => result),
      ['Equal', 'NotSent', 'NotSent', 'Different', 'NotCompared'],
    );
    assert.deepEqual(
      differences(report).map(([field]) => field),
      [0, 3],
    );
    assert.equal(report.checked, 4);
  });

  test('a host with message authentication, and without it in one response', async () => {
    const table: HostTable = {
      ...custom,
      name: 'south-bank',
      mac: { algorithm: 'Iso9797Alg3', place: 'Last', over: 'BeforeField', messages: 'Financial' },
    };
    const dialect = writeTable(table);
    const writer = createFrameWriter({ table });
    const { payment } = createPayments();
    const response = ({ reference }: ReturnType<typeof payment>) => ({
      mti: '0210',
      fields: {
        3: '000000',
        4: '000000001250',
        11: reference.stan,
        39: '00',
        41: reference.terminalId,
        42: 'M00000000000001',
      },
    });
    const withoutMac = createFrameWriter({
      table,
      change: ({ mti, fields: { 64: _mac, ...fields } }) => ({ mti, fields }),
    });
    const [first, second] = [payment('Sale'), payment('Sale')];
    const frames = [
      ['ToHost', writer.encodePayment(first)],
      ['FromHost', writer.encodeMessage(response(first))],
      ['ToHost', writer.encodePayment(second)],
      ['FromHost', withoutMac.encodeMessage(response(second))],
    ] as const;
    const messages = frames.map(([direction, frame], at) => ({ direction, atMs: at, frame }));
    const { compared } = await compare(messages, dialect);
    assert.deepEqual(
      compared.map(({ result }) => result),
      ['Equal', 'Approved', 'Equal', 'Refused'],
    );
  });

  test('a capture of TCP has the same result as JSON lines', async () => {
    const messages = await recordTraffic(allKinds(), { table: builtInHosts['iso1993-ascii'] });
    const connection = createTestConnection({
      link: 'ethernet',
      client: { address: '10.0.0.1', port: 40_001 },
      server: { address: '10.0.0.2', port: 8583 },
      startMs: Date.UTC(2026, 10, 29, 23, 15),
    });
    const packets = [
      ...connection.open(),
      ...messages.map(({ direction, frame }) =>
        connection.send(direction === 'ToHost' ? 'client' : 'server', frame),
      ),
    ];
    const file = writeTrace(pcapFile('ethernet', packets));
    const { stdout, code } = await runCompare(
      '--trace',
      file,
      '--dialect',
      'iso1993-ascii',
      '--json',
    );
    const report = JSON.parse(stdout) as ComparisonReport;
    assert.deepEqual([differences(report), reasons(report), code], [[], [], 0]);
    const lines = await compare(messages, 'iso1993-ascii');
    assert.deepEqual(report.results, lines.report.results);
  });

  test('lines that are no messages are listed with their numbers, without their content', async () => {
    const { payment } = createPayments();
    const writer = createFrameWriter({ table: builtInHosts['iso1987-ascii'] });
    const frame = writer.encodePayment(payment('Sale')).toString('hex');
    const direction = 'ToHost';
    const [number = ''] = cardData;
    const lines = [
      JSON.stringify({ direction, frame }),
      '',
      `{"direction":"ToHost","frame":"${number}`,
      JSON.stringify({ direction: number, frame }),
      JSON.stringify({ direction, frame: frame.slice(0, -2) }),
      JSON.stringify({ direction, payload: frame.slice(8, 60) }),
      JSON.stringify({ direction, frame, connection: number }),
      JSON.stringify({ direction, frame, time: number }),
      JSON.stringify({ direction }),
      JSON.stringify({ direction, frame: '0'.repeat(300_000) }),
    ];
    const file = writeTrace(lines.join('\n'));
    const { stdout, code } = await runCompare(
      '--trace',
      file,
      '--dialect',
      'iso1987-ascii',
      '--json',
    );
    const report = JSON.parse(stdout) as ComparisonReport;
    assert.equal(code, 8);
    assert.deepEqual(
      report.reasons
        .map(({ position, reason }) => `${position}: ${reason}`)
        .sort((a, b) => Number(/\d+/.exec(a)) - Number(/\d+/.exec(b))),
      [
        'line 3: the line is not a JSON object',
        'line 4: the member direction must be ToHost or FromHost',
        `line 5: the last message is incomplete: ${frame.length / 2 - 1} bytes (ToHost, 1)`,
        'line 6: message_truncated in DE2 at byte 22',
        'line 8: the member time must be an RFC 3339 time',
        'line 9: the line must have frame (with length and TPDU) or payload (without)',
        'line 10: the line has more than 262144 bytes',
      ],
    );
  });

  test('a file that is no trace, a table that is none, and wrong options end with 2', async () => {
    const { payment } = createPayments();
    const writer = createFrameWriter({ table: builtInHosts['iso1987-ascii'] });
    const frame = writer.encodePayment(payment('Sale'));
    const trace = writeTrace(jsonLines([{ direction: 'ToHost', atMs: 0, frame }]));
    const hexTable = writeTrace(frame.toString('latin1'));
    const wrong: [string[], RegExp][] = [
      [['--trace', writeTrace(''), '--dialect', 'iso1987-ascii'], /the file is empty/],
      [['--trace', writeTrace(frame), '--dialect', 'iso1987-ascii'], /neither a capture file/],
      [['--trace', join(folder, 'none'), '--dialect', 'iso1987-ascii'], /does not exist/],
      [['--trace', trace, '--dialect', join(folder, 'none')], /is not a built-in host table/],
      [['--trace', trace, '--dialect', trace], /is not a host table/],
      [['--trace', trace, '--dialect', hexTable], /is not a host table/],
      [['--trace', trace, '--dialect', 'iso1987-ascii', '--tolerance', '101%'], /percentage/],
      [['--trace', trace, '--dialect', 'iso1987-ascii', '--ignore', 'PAN'], /numbers of fields/],
      [['--trace', trace, '--dialect', 'iso1987-ascii', '--out', trace], /exists already/],
      [['--dialect', 'iso1987-ascii'], /--trace/],
    ];
    for (const [args, expected] of wrong)
      for (const json of [[], ['--json']]) {
        const { code, stderr } = await runCompare(...args, ...json);
        assert.match(stderr, expected);
        assert.equal(code, 2, stderr);
      }
  });
});
