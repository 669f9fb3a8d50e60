// Bulk imports: lines that create, replace and delete objects in order, and the result of each
// line.
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import type { BulkImport } from '@switchyard/contract';
import {
  hardwareLine,
  type Imported,
  merchantLine,
  openBulk,
  placeLine,
  storeLine,
  type TestBulkImport,
} from '../support/provisioning/bulk-import-client.ts';
import { assertRefused, deviceBody } from '../support/provisioning/test-provisioning.ts';

const statuses = ({ results }: Imported) => results.map(({ status }) => status);

describe('a bulk import', () => {
  let setup: TestBulkImport;
  before(async () => {
    setup = await openBulk();
  });
  after(() => setup.close());

  // Spec: PROV-24
  test('creates parents first, and children by the external identifiers of their parents', async () => {
    const hardware = deviceBody();
    const lines = [
      merchantLine('a-M', { labels: { region: 'north' }, address: { line1: '1', city: 'Paris' } }),
      storeLine('a-M', 'a-S'),
      placeLine('a-S', 'a-D'),
      hardwareLine('a-D', hardware),
    ];
    const made = await setup.lines(lines, { key: 'a-1' });
    assert.equal(made.status, 200, made.text);
    assert.deepEqual(statuses(made), ['created', 'created', 'created', 'created'], made.text);
    assert.deepEqual(
      made.results.map(({ line, type, externalId }) => ({ line, type, externalId })),
      [
        { line: 1, type: 'merchant', externalId: 'a-M' },
        { line: 2, type: 'store', externalId: 'a-S' },
        { line: 3, type: 'logicalDevice', externalId: 'a-D' },
        { line: 4, type: 'physicalDevice', externalId: undefined },
      ],
    );
    assert.deepEqual(made.summary, {
      bulkId: 'a-1',
      dryRun: false,
      state: 'Completed',
      lines: 4,
      created: 4,
      replaced: 0,
      unchanged: 0,
      deleted: 0,
      failed: 0,
    });
    assert.equal(made.headers['location'], '/provisioning/v2/bulk/a-1');
    const [merchant, store, logicalDeviceId, device] = made.results.map(({ id }) => id);
    const read = await setup.call('org', 'GET', `/physical-devices/${device}`);
    assert.equal(read.body['merchantId'], merchant);
    assert.equal(read.body['logicalDeviceId'], logicalDeviceId);
    const filled = await setup.call('org', 'GET', `/logical-devices/${logicalDeviceId}`);
    assert.deepEqual(filled.body['physicalDeviceIds'], [device]);
    assert.equal(filled.body['storeId'], store);

    const again = await setup.lines(lines, { key: 'a-2' });
    assert.deepEqual(statuses(again), Array(4).fill('unchanged'), again.text);
    const renamed = await setup.lines([
      storeLine('a-M', 'a-S', { name: 'Renamed' }),
      {
        type: 'physicalDevice',
        operation: 'delete',
        data: { serialNumber: hardware.serialNumber },
      },
      { type: 'logicalDevice', operation: 'delete', data: { externalId: 'a-D' } },
      {
        type: 'store',
        operation: 'delete',
        data: { merchantExternalId: 'a-M', externalId: 'a-S' },
      },
      { type: 'merchant', operation: 'delete', data: { merchantId: merchant } },
    ]);
    assert.deepEqual(
      statuses(renamed),
      ['replaced', 'deleted', 'deleted', 'deleted', 'deleted'],
      renamed.text,
    );
    assert.equal((await setup.call('org', 'GET', `/stores/${store}`)).status, 404);
  });

  // Spec: PROV-24
  test('reports the error of each invalid line, and continues with the next line', async () => {
    const { merchantId } = await setup.createMerchant('b-shop');
    const foreign = await setup.call('other', 'POST', '/merchants', {
      body: { name: 'Foreign', country: 'FR', mcc: '5814', timeZone: 'Europe/Paris' },
    });
    const rows: [string, string | undefined, string | undefined][] = [
      ['{', 'malformed_json', undefined],
      ['[]', 'field_invalid', ''],
      ['{"type":"shop","data":{}}', 'field_invalid', '/type'],
      ['{"data":{}}', 'field_required', '/type'],
      ['{"type":"store","operation":"move","data":{}}', 'field_invalid', '/operation'],
      ['{"type":"store"}', 'field_required', '/data'],
      ['{"type":"store","data":{"name":"x","name":"y"}}', 'malformed_json', undefined],
      ['{"type":"store","data":{},"more":1}', 'field_unknown', '/more'],
      [
        `{"type":"store","operation":"create","data":{"merchantId":"${merchantId}","name":""}}`,
        'field_invalid',
        '/name',
      ],
      [
        `{"type":"store","data":{"merchantId":"${merchantId}","name":"x"}}`,
        'field_required',
        '/externalId',
      ],
      [
        '{"type":"store","data":{"merchantExternalId":"nobody","externalId":"b","name":"x"}}',
        'merchant_not_found',
        undefined,
      ],
      [
        `{"type":"store","data":{"merchantId":"${foreign.body['merchantId']}","externalId":"b","name":"x"}}`,
        'merchant_not_found',
        undefined,
      ],
      [
        `{"type":"store","data":{"merchantId":"${merchantId}","merchantExternalId":"b","externalId":"b","name":"x"}}`,
        'field_invalid',
        '/merchantExternalId',
      ],
      [
        '{"type":"store","operation":"replace","data":{"externalId":"nobody","name":"x"}}',
        'store_not_found',
        undefined,
      ],
      [
        '{"type":"store","operation":"delete","data":{"externalId":"nobody"}}',
        'store_not_found',
        undefined,
      ],
      [
        '{"type":"store","operation":"delete","data":{"externalId":"nobody","name":"x"}}',
        'field_unknown',
        '/name',
      ],
      [
        '{"type":"merchant","data":{"externalId":"b","name":"x","country":"XX","mcc":"5814","timeZone":"Europe/Paris"}}',
        'field_invalid',
        '/country',
      ],
      [
        `{"type":"merchant","operation":"delete","data":{"merchantId":"${merchantId}"}}`,
        'has_dependants',
        undefined,
      ],
      [
        '{"type":"logicalDevice","data":{"externalId":"b","name":"x"}}',
        'field_required',
        '/storeId',
      ],
      [
        `{"type":"store","data":{"merchantId":"${merchantId}","externalId":"b-last","name":"Last"}}`,
        undefined,
        undefined,
      ],
    ];
    const imported = await setup.send(rows.map(([line]) => line).join('\n'));
    assert.equal(imported.status, 200, imported.text);
    for (const [index, [line, code, pointer]] of rows.entries()) {
      const { line: number, status, error } = imported.results[index] ?? {};
      assert.deepEqual(
        [number, status],
        [index + 1, code === undefined ? 'created' : 'failed'],
        line,
      );
      assert.equal(error?.code, code, `${line}: ${JSON.stringify(error)}`);
      if (pointer !== undefined) assert.equal(error?.errors?.[0]?.pointer, pointer, line);
    }
    const refusedLine = imported.results.find(({ error }) => error?.code === 'has_dependants');
    assert.deepEqual(
      refusedLine?.error?.dependants?.map(({ type }) => type),
      ['Store'],
    );
    assert.equal(imported.summary?.failed, rows.length - 1);
  });

  test('a line sees the changes of earlier lines, also if a later line reverses them', async () => {
    const [one, two] = [deviceBody(), deviceBody()];
    const body = (serialNumber: string, externalId: string) => ({
      type: 'physicalDevice',
      data: { ...one, serialNumber, externalId },
    });
    const imported = await setup.lines([
      merchantLine('c-M'),
      storeLine('c-M', 'c-S'),
      storeLine('c-M', 'c-S', { name: 'Again' }),
      storeLine('c-M', 'c-S', { name: 'Again' }),
      { type: 'merchant', operation: 'delete', data: { externalId: 'c-M' } },
      placeLine('c-S', 'c-D'),
      { type: 'store', operation: 'delete', data: { externalId: 'c-S' } },
      body(one.serialNumber, 'c-1'),
      body(one.serialNumber, 'c-2'),
      // The serial number is free after its device got another one, or was deleted.
      body(two.serialNumber, 'c-1'),
      body(one.serialNumber, 'c-2'),
      { type: 'physicalDevice', operation: 'delete', data: { externalId: 'c-2' } },
      body(one.serialNumber, 'c-3'),
      body(one.serialNumber, 'c-1'),
    ]);
    assert.deepEqual(
      imported.results.map(({ status, error }) => error?.code ?? status),
      [
        'created',
        'created',
        'replaced',
        'unchanged',
        'has_dependants',
        'created',
        'has_dependants',
        'created',
        'already_exists',
        'replaced',
        'created',
        'deleted',
        'created',
        'already_exists',
      ],
      imported.text,
    );
    const remainingList = await setup.call('org', 'GET', '/physical-devices?externalId=c-1');
    const [device] = remainingList.body['items'] as { serialNumber: string }[];
    assert.equal(device?.serialNumber, two.serialNumber);
  });

  test('stores with the same external identifier are distinguished by their merchant', async () => {
    const numbered = ['d-1', 'd-2'].flatMap((merchant) => [
      merchantLine(merchant),
      storeLine(merchant, 'd-001'),
    ]);
    assert.deepEqual(statuses(await setup.lines(numbered)), Array(4).fill('created'));
    const deviceLineOf = (merchant: object) => ({
      type: 'logicalDevice',
      data: { ...merchant, storeExternalId: 'd-001', externalId: 'd-D', name: 'Till' },
    });
    const { results } = await setup.lines([
      deviceLineOf({}),
      deviceLineOf({ merchantExternalId: 'd-1' }),
      deviceLineOf({ merchantExternalId: 'd-2' }),
      deviceLineOf({ merchantExternalId: 'd-2' }),
      { type: 'logicalDevice', operation: 'delete', data: { externalId: 'd-D' } },
    ]);
    assert.deepEqual(
      results.map(({ status, error }) => error?.errors?.[0]?.pointer ?? status),
      ['/storeExternalId', 'created', 'created', 'unchanged', '/externalId'],
      JSON.stringify(results),
    );
    assert.notEqual(results[1]?.id, results[2]?.id);
  });

  test('the import assigns hardware to a logical device with a free slot, and does not move assigned hardware', async () => {
    await setup.lines([
      merchantLine('e-M'),
      merchantLine('e-N'),
      storeLine('e-M', 'e-S'),
      storeLine('e-N', 'e-T'),
      placeLine('e-S', 'e-D'),
      placeLine('e-T', 'e-E'),
    ]);
    const [a, b, c] = [deviceBody(), deviceBody(), deviceBody()];
    const { results, text } = await setup.lines([
      hardwareLine('e-D', a),
      { type: 'physicalDevice', data: c },
      hardwareLine('e-D', b),
      hardwareLine('e-D', c),
      hardwareLine('e-E', a),
      hardwareLine('e-E', { ...c, merchantExternalId: 'e-M' }),
      hardwareLine('e-E', c),
      hardwareLine('nowhere', deviceBody()),
    ]);
    assert.deepEqual(
      results.map(({ status, error }) => error?.code ?? status),
      [
        'created',
        'created',
        'created',
        'field_invalid',
        'field_invalid',
        'device_not_found',
        'replaced',
        'device_not_found',
      ],
      text,
    );
    const listed = await setup.call('org', 'GET', '/logical-devices?externalId=e-D');
    const [filled] = listed.body['items'] as { physicalDeviceIds: string[] }[];
    assert.deepEqual(filled?.physicalDeviceIds, [results[0]?.id, results[2]?.id]);
    const removed = await setup.lines([
      { type: 'physicalDevice', operation: 'delete', data: { serialNumber: a.serialNumber } },
      hardwareLine('e-D', deviceBody()),
    ]);
    assert.deepEqual(statuses(removed), ['deleted', 'created'], removed.text);
  });

  test('a merchant imports its own entities, and cannot create or delete a merchant', async () => {
    const { token, merchantId } = await setup.createMerchant('f-shop');
    const { merchantId: otherId } = await setup.createMerchant('f-other');
    const merchantLineOf = (data: object) => ({
      type: 'store',
      data: { externalId: 'f-S', name: 'Own', ...data },
    });
    const { results, text } = await setup.lines(
      [
        merchantLineOf({}),
        merchantLineOf({ merchantId: otherId }),
        { type: 'merchant', operation: 'delete', data: { merchantId } },
        { type: 'merchant', operation: 'delete', data: { merchantId: otherId } },
        merchantLine('f-M'),
        { ...merchantLine('f-M'), operation: 'create' },
      ],
      { token, key: 'f-1' },
    );
    assert.deepEqual(
      results.map(({ status, error }) => error?.code ?? status),
      [
        'created',
        'merchant_not_found',
        'permission_denied',
        'merchant_not_found',
        'permission_denied',
        'permission_denied',
      ],
      text,
    );
    // The keys of imports also belong to the merchant.
    assert.equal((await setup.call('org', 'GET', '/bulk/f-1')).status, 404);
    assert.equal((await setup.state('f-1', token)).lines, 6);
    for (const [caller, code] of [
      ['reader', 403],
      ['nobody', 403],
      ['unknown', 401],
    ] as const) {
      assert.equal((await setup.lines([merchantLine('x')], { token: caller })).status, code);
    }
  });

  test('imports are listed, the newest first, without trials and without those of others', async () => {
    await setup.lines([merchantLine('l-M')], { key: 'l-0' });
    const { token } = await setup.createMerchant('l-shop');
    const line = (externalId: string) => ({ type: 'store', data: { externalId, name: 'Own' } });
    for (const key of ['l-1', 'l-2', 'l-3']) {
      await setup.lines([line(key), line('')], { token, key });
      await setup.lines([line(key)], { token, query: 'dryRun=true' });
    }
    const names: string[] = [];
    let cursor: string | null = '';
    do {
      const query: string = cursor === '' ? '' : `&cursor=${cursor}`;
      const { status, body } = await setup.call(token, 'GET', `/bulk?limit=1${query}`);
      assert.equal(status, 200, JSON.stringify(body));
      const page = body as { items: BulkImport[]; nextCursor: string | null };
      for (const one of page.items) {
        names.push(one.bulkId);
        assert.deepEqual(one, await setup.state(one.bulkId, token));
      }
      cursor = page.nextCursor;
    } while (cursor !== null);
    assert.deepEqual(names, ['l-3', 'l-2', 'l-1']);
    const ofAll = (await setup.call('org', 'GET', '/bulk?limit=200')).body['items'] as BulkImport[];
    assert.ok(ofAll.some(({ bulkId }) => bulkId === 'l-0'));
    assert.ok(!ofAll.some(({ bulkId }) => bulkId === 'l-1'), 'the names of a merchant are its own');
    const ofOthers = (await setup.call('other', 'GET', '/bulk')).body['items'] as BulkImport[];
    assert.ok(!ofOthers.some(({ bulkId }) => bulkId.startsWith('l-')));
    assertRefused(await setup.call('nobody', 'GET', '/bulk'), 403, 'permission_denied');
    assertRefused(await setup.call('org', 'GET', '/bulk?cursor=x'), 422, 'cursor_invalid');
  });

  // Spec: PROV-33
  test('a dry run checks everything, also against its own lines, and leaves nothing', async () => {
    const device = deviceBody();
    const lines = [
      merchantLine('g-M'),
      storeLine('g-M', 'g-S'),
      ...Array.from({ length: 1100 }, (_, index) => placeLine('g-S', `g-D${index}`)),
      hardwareLine('g-D3', device),
      hardwareLine('g-D1099', device),
      { type: 'store', operation: 'delete', data: { externalId: 'g-S' } },
      placeLine('g-S', 'g-D7'),
      placeLine('g-T', 'g-D8'),
    ];
    const tried = await setup.lines(lines, { query: 'dryRun=true', key: 'g-1' });
    assert.deepEqual(
      tried.results.slice(-5).map(({ status, error }) => error?.code ?? status),
      ['created', 'field_invalid', 'has_dependants', 'unchanged', 'store_not_found'],
      tried.text.slice(-2000),
    );
    assert.deepEqual(
      { ...tried.summary },
      {
        dryRun: true,
        state: 'Completed',
        lines: lines.length,
        created: 1103,
        replaced: 0,
        unchanged: 1,
        deleted: 0,
        failed: 3,
      },
    );
    const listResponse = await setup.call('org', 'GET', '/merchants?externalId=g-M');
    assert.deepEqual(listResponse.body['items'], []);
    assert.equal((await setup.call('org', 'GET', '/bulk/g-1')).status, 404);
    const made = await setup.lines(lines, { key: 'g-1' });
    assert.deepEqual(
      made.results.map(({ status, error }) => [status, error?.code, error?.detail]),
      tried.results.map(({ status, error }) => [status, error?.code, error?.detail]),
    );
  });

  test('every change is in the audit, in the order of the lines', async () => {
    const device = deviceBody();
    const { results } = await setup.lines([
      merchantLine('h-M'),
      storeLine('h-M', 'h-S'),
      placeLine('h-S', 'h-D'),
      hardwareLine('h-D', device),
      storeLine('h-M', 'h-S'),
      storeLine('h-M', 'h-S', { status: 'Disabled' }),
    ]);
    const auditResponse = await setup.app.inject({
      url: '/audit/v1/records?order=NewestFirst&limit=6',
      headers: { authorization: 'Bearer org' },
    });
    const records = auditResponse.json<{ items: { action: string; entity: { id: string } }[] }>()
      .items;
    const [merchant, store, logicalDeviceId, hardware] = results.map(({ id }) => id);
    assert.deepEqual(
      records.reverse().map(({ action, entity }) => [action, entity.id]),
      [
        ['merchant.created', merchant],
        ['store.created', store],
        ['logicalDevice.created', logicalDeviceId],
        ['physicalDevice.created', hardware],
        ['logicalDevice.linked', logicalDeviceId],
        ['store.updated', store],
      ],
    );
  });

  test('an import does not change the claim of a terminal, and the deletion of the terminal ends the claim', async () => {
    const body = deviceBody();
    const merchantLineOf = await setup.made('org', '/physical-devices', body);
    const { physicalDeviceId = '' } = merchantLineOf;
    const { terminalClaims } = setup.provisioning;
    await terminalClaims.claimByOperator(setup.organizationId, physicalDeviceId);
    const statusOf = async (token: string) => {
      const listResponse = await setup.call(
        token,
        'GET',
        `/physical-devices?serialNumber=${body.serialNumber}`,
      );
      return (listResponse.body['items'] as { claimStatus: string }[]).map(
        ({ claimStatus }) => claimStatus,
      );
    };
    const renamed = await setup.lines([{ type: 'physicalDevice', data: { ...body, name: 'Bar' } }]);
    assert.deepEqual(statuses(renamed), ['replaced'], renamed.text);
    assert.deepEqual(await statusOf('org'), ['Claimed']);
    const elsewhere = await setup.made('other', '/physical-devices', body);
    const removing = { operation: 'delete', data: { serialNumber: body.serialNumber } };
    await setup.lines([{ type: 'physicalDevice', ...removing }]);
    await terminalClaims.claimByOperator(
      String(elsewhere['organizationId']),
      String(elsewhere['physicalDeviceId']),
    );
    assert.deepEqual(await statusOf('other'), ['Claimed']);
  });

  test('of an import and single requests for the same hardware each piece goes to one', async () => {
    const bodies = Array.from({ length: 120 }, deviceBody);
    const half = bodies.filter((_body, index) => index % 2 === 0);
    const [imported, ...singles] = await Promise.all([
      setup.lines(bodies.map((data) => ({ type: 'physicalDevice', operation: 'create', data }))),
      ...half.map((body) => setup.call('org', 'POST', '/physical-devices', { body })),
    ]);
    assert.equal(imported.summary?.state, 'Completed', imported.text.slice(-500));
    const byImport = new Map(
      bodies.map((body, index) => [body.serialNumber, imported.results[index]]),
    );
    for (const [index, { serialNumber }] of half.entries()) {
      const { status, error } = byImport.get(serialNumber) ?? {};
      const single = singles[index];
      assert.ok(single);
      const outcome = [error?.code ?? status, single.body['code'] ?? single.status];
      const outcomes = [`created,already_exists`, `already_exists,201`];
      assert.ok(outcomes.includes(outcome.join()), `${serialNumber}: ${outcome}`);
    }
    for (const { serialNumber } of bodies) {
      const listResponse = await setup.call(
        'org',
        'GET',
        `/physical-devices?serialNumber=${serialNumber}`,
      );
      assert.equal((listResponse.body['items'] as unknown[]).length, 1);
    }
  });
});
