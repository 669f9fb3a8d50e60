// Whole run: many refused requests; other files test the accepted ones.
// CSV imports and unreadable bodies: quotes, encodings, formulas, endless lines.
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { bulkLimits } from '@switchyard/contract';
import {
  jsonLines,
  merchantLine,
  openBulk,
  type TestBulkImport,
} from '../support/provisioning/bulk-import-client.ts';
import { deviceBody } from '../support/provisioning/test-provisioning.ts';

const csv = 'text/csv';
const merchantColumns = 'type,externalId,name,country,mcc,timeZone';
const merchantRow = (externalId: string, name = 'Shop') =>
  `merchant,${externalId},${name},FR,5814,Europe/Paris`;

describe('a bulk import of a table', () => {
  let setup: TestBulkImport;
  before(async () => {
    setup = await openBulk();
  });
  after(() => setup.close());

  const merchant = async (externalId: string) => {
    const { body } = await setup.call('org', 'GET', `/merchants?externalId=${externalId}`);
    return (body['items'] as Record<string, unknown>[])[0];
  };

  test('has a column for each member, labels and addresses too', async () => {
    const { serialNumber } = deviceBody();
    const rows = [
      'type,operation,merchantExternalId,storeExternalId,logicalDeviceExternalId,externalId,name,country,mcc,timeZone,address.line1,address.city,contact.email,contact.phone,labels.region,serialNumber,make,model,family',
      'merchant,,,,,a-M,"Lumière ""L"", Fils",FR,5814,Europe/Paris,12 quai,Paris,a@example.com,+33123456789,north,,,,',
      'store,create,a-M,,,a-S,"Two',
      'lines",,,,,,,,,,,,',
      'store,,a-M,,,a-S,Canal,,,,1 rue,Paris,,,,,,,',
      '',
      'logicalDevice,upsert,,a-S,,a-D,Counter,,,,,,,,,,,,',
      `physicalDevice,,,,a-D,,,,,,,,,,,${serialNumber},AXIUM,DX8000,axium`,
    ];
    for (const [key, ending] of [
      ['a-1', '\n'],
      ['a-2', '\r\n'],
    ] as const) {
      const imported = await setup.send(`\uFEFF${rows.join(ending)}`, {
        key,
        type: `${csv}; charset=UTF-8`,
      });
      assert.equal(imported.status, 200, imported.text);
      const first = key === 'a-1' ? 'created' : 'unchanged';
      assert.deepEqual(
        imported.results.map(({ line, status, error }) => [line, error?.code ?? status]),
        [
          [2, first],
          // A name must not contain a line break.
          [3, 'field_invalid'],
          [5, first],
          [7, first],
          [8, first],
        ],
        imported.text,
      );
      const { bytes, format } = await setup.state(key);
      assert.deepEqual([bytes, format], [Buffer.byteLength(`\uFEFF${rows.join(ending)}`), 'Csv']);
      const again = await setup.send(`\uFEFF${rows.join(ending)}`, { key, type: csv });
      assert.equal(again.text, imported.text);
    }
    const made = await merchant('a-M');
    assert.equal(made?.['name'], 'Lumière "L", Fils');
    assert.deepEqual(made?.['labels'], { region: 'north' });
    assert.deepEqual(made?.['address'], { line1: '12 quai', city: 'Paris' });
    assert.deepEqual(made?.['contact'], { email: 'a@example.com', phone: '+33123456789' });
  });

  // Spec: PROV-27
  test('columns that are wrong are refused before anything is done', async () => {
    const rows: [string, string, RegExp][] = [
      [
        'type,nmae\nmerchant,x',
        'field_unknown',
        /“nmae” is unknown; the most similar name is name\./,
      ],
      ['type,address.town\nmerchant,x', 'field_unknown', /the most similar name is address\./],
      ['type,labels\nmerchant,x', 'field_unknown', /labels\. and the name of a label/],
      ['type,name,name\nmerchant,x,y', 'field_invalid', /“name” occurs twice/],
      ['externalId,name\nM,x', 'field_required', /including type/],
      ['type;externalId;name\nmerchant;M;x', 'field_unknown', /without a name/],
      ['type,4111111111111111\nmerchant,x', 'field_unknown', /without a name/],
      ['"type,name\nmerchant,x', 'malformed_csv', /opens on line 1 is never closed/],
      ['', 'malformed_csv', /has no header row/],
      ['\n\n', 'malformed_csv', /has no header row/],
    ];
    for (const [body, code, detail] of rows) {
      const { status, problem } = await setup.send(body, { type: csv });
      assert.equal(problem['code'], code, body);
      assert.match(String(problem['detail']), detail);
      assert.ok(status === 422 || status === 400);
      const problemText = JSON.stringify(problem).replaceAll(String(problem['requestId']), '');
      assert.doesNotMatch(problemText, /4111/);
    }
  });

  // Spec: PROV-27
  test('rows that are wrong fail alone; a quote that is open ends it, and names its line', async () => {
    const rows = [
      merchantColumns,
      merchantRow('b-1'),
      'merchant,b-2,too few',
      `${merchantRow('b-3')},too many`,
      merchantRow('b-4', ''),
      `${merchantRow('b-5')}`,
      merchantRow('b-6', '"closed'),
      merchantRow('b-7'),
    ];
    const body = rows.join('\n');
    const imported = await setup.send(body, { type: csv, key: 'b' });
    assert.deepEqual(
      imported.results.map(({ line, status, error }) => [line, error?.code ?? status]),
      [
        [2, 'created'],
        [3, 'malformed_csv'],
        [4, 'malformed_csv'],
        [5, 'field_required'],
        [6, 'created'],
      ],
      imported.text,
    );
    assert.equal(imported.summary?.state, 'Interrupted');
    assert.equal(imported.summary?.error?.code, 'malformed_csv');
    assert.match(imported.summary?.error?.detail ?? '', /opens on line 7 is never closed/);
    // The corrected body continues after the accepted lines, with the same key.
    const mended = await setup.send(body.replace('"closed', 'closed'), { type: csv, key: 'b' });
    assert.deepEqual([mended.summary?.state, mended.summary?.created], ['Completed', 4]);
  });

  test('a quote within a cell, and a row without end', async () => {
    const within = [merchantColumns, merchantRow('c-1'), merchantRow('c-2', 'a "b" c')].join('\n');
    const first = await setup.send(within, { type: csv });
    assert.deepEqual([first.results.length, first.summary?.error?.code], [1, 'malformed_csv']);
    assert.match(
      first.summary?.error?.detail ?? '',
      /begins on line 3 a cell contains an unescaped quote/,
    );
    const endless = `${merchantColumns}\n${merchantRow('c-3')}\n${merchantRow('c-4', `"${'x\n'.repeat(bulkLimits.lineBytes)}`)}`;
    const second = await setup.send(endless, { type: csv });
    assert.match(second.summary?.error?.detail ?? '', /begins on line 3 is longer than 65536/);
    assert.deepEqual(
      second.results.map(({ status }) => status),
      ['created'],
    );
  });

  test('accepts formulas as text, and fails rows with control characters', async () => {
    const names = ['=1+1', '+1', '-1', '@SUM(A1)', "'=1", '"\t=1"', '"a\u0000b"', '"a\u0007"'];
    const rows = names.map((name, index) => merchantRow(`d-${index}`, name));
    const body = [merchantColumns, ...rows].join('\n');
    const { results } = await setup.send(body, { type: csv });
    assert.deepEqual(
      results.map(({ status }) => status),
      [...Array(5).fill('created'), ...Array(3).fill('failed')],
    );
    assert.equal((await merchant('d-0'))?.['name'], '=1+1');
  });

  test('other encodings are refused: by row where one is hurt, whole where all is', async () => {
    const latin = Buffer.from(
      [merchantColumns, merchantRow('e-1', 'café'), merchantRow('e-2')].join('\n'),
      'latin1',
    );
    const { results } = await setup.send(latin, { type: csv });
    assert.deepEqual(
      results.map(({ status, error }) => error?.code ?? status),
      ['malformed_csv', 'created'],
    );
    const lines = Buffer.from(
      jsonLines([merchantLine('e-3', { name: 'café' }), merchantLine('e-4')]),
      'latin1',
    );
    const imported = await setup.send(lines);
    assert.deepEqual(
      imported.results.map(({ status, error }) => error?.code ?? status),
      ['malformed_json', 'created'],
    );
    const wide = Buffer.from(`\uFEFF${merchantColumns}\n${merchantRow('e-5')}`, 'utf16le');
    assert.equal((await setup.send(wide, { type: csv })).problem['code'], 'malformed_csv');
    for (const type of [
      `${csv}; charset=iso-8859-1`,
      'application/jsonl; charset=utf-16',
      'application/json',
      'text/plain',
    ]) {
      const { status, problem } = await setup.send(merchantColumns, { type });
      assert.deepEqual([status, problem['code']], [415, 'unsupported_media_type'], type);
    }
    const marked = await setup.send(`\uFEFF${jsonLines([merchantLine('e-6')])}`, {
      type: 'application/x-ndjson',
    });
    assert.equal(marked.results[0]?.status, 'created');
  });

  test('a line that is too long fails alone, a body that is too long ends', async () => {
    const long = JSON.stringify(merchantLine('f-1', { name: 'x'.repeat(bulkLimits.lineBytes) }));
    const { results } = await setup.send(`${long}\n${JSON.stringify(merchantLine('f-2'))}`);
    assert.deepEqual(
      results.map(({ status, error }) => error?.code ?? status),
      ['payload_too_large', 'created'],
    );
    const { request, answered } = setup.open({ key: 'f' });
    request.write(jsonLines([merchantLine('f-3')]));
    request.end(Buffer.alloc(bulkLimits.bytes, '\n'));
    const { summary, results: before } = await answered;
    assert.equal(before[0]?.status, 'created');
    assert.deepEqual([summary?.state, summary?.error?.code], ['Interrupted', 'payload_too_large']);
    const headed = setup.open({});
    headed.request.setHeader('content-length', bulkLimits.bytes + 1);
    headed.request.flushHeaders();
    const refused = await headed.answered;
    headed.request.destroy();
    assert.deepEqual([refused.status, refused.problem['code']], [413, 'payload_too_large']);
  });

  test('a slow sender is waited for, byte by byte', async () => {
    const body = Buffer.from(`${merchantColumns}\r\n${merchantRow('g-1', '"Café"')}\r\n`);
    const { request, answered } = setup.open({ type: csv });
    for (const byte of body) {
      await new Promise<void>((resolve) => request.write(Buffer.of(byte), () => resolve()));
    }
    request.end();
    const { results } = await answered;
    assert.deepEqual(
      results.map(({ status }) => status),
      ['created'],
    );
    assert.equal((await merchant('g-1'))?.['name'], 'Café');
  });
});
