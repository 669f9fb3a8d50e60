// Whole run: many requests with generated values.
// Random imports give the same results and the same objects as the single routes.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { defined } from '@switchyard/contract';
import { createRandom } from '../faults/load-during-faults.ts';
import {
  type Line,
  openBulk,
  type TestBulkImport,
} from '../support/provisioning/bulk-import-client.ts';
import type { Answer } from '../support/provisioning/test-provisioning.ts';

const seed = Number(process.env['TEST_SEED'] ?? Date.now() % 1_000_000);
const rounds = 4;
const linesPerRound = 60;

type Members = Record<string, unknown>;
type LineOutcome = { status: string; code?: unknown; pointer?: unknown };

const paths: Record<string, string> = {
  merchant: '/merchants',
  store: '/stores',
  logicalDevice: '/logical-devices',
  physicalDevice: '/physical-devices',
};
const idOf = (type: string) => `${type}Id`;

let setup: TestBulkImport;
before(async () => {
  setup = await openBulk();
});
after(() => setup.close());

/**
 * The lines use few names, so that they affect each other, each below one parent; some members are
 * wrong.
 */
function createLines(next: () => number, round: number) {
  const pick = <Of>(all: readonly Of[]) => all[Math.floor(next() * all.length)] as Of;
  const number = (count: number) => Math.floor(next() * count);
  const randomNames = {
    merchant: () => `M${round}-${number(3)}`,
    store: () => `S${round}-${number(3)}-${number(2)}`,
    logicalDevice: () => `D${round}-${number(3)}-${number(2)}-${number(2)}`,
    physicalDevice: () => `P${round}-${number(7)}`,
  };
  const above = (name: string, head: string) => name.replace(/^./, head).replace(/-\d$/, '');
  const common = (externalId: string): Members => ({
    externalId,
    name: pick(['One', 'Two', 'Three']),
    ...(next() < 0.2 ? { status: pick(['Enabled', 'Disabled']) } : {}),
    ...(next() < 0.2 ? { labels: { region: pick(['north', 'south']) } } : {}),
    ...(next() < 0.04 ? pick<Members>([{ name: '' }, { more: 1 }, { status: 'Gone' }]) : {}),
  });
  const data = {
    merchant: (name: string) => ({
      ...common(name),
      country: next() < 0.05 ? 'XX' : 'FR',
      mcc: '5814',
      timeZone: next() < 0.05 ? 'Nowhere' : 'Europe/Paris',
    }),
    store: (name: string) => ({ ...common(name), merchantExternalId: above(name, 'M') }),
    logicalDevice: (name: string) => ({ ...common(name), storeExternalId: above(name, 'S') }),
    physicalDevice: (name: string) => ({
      ...common(name),
      serialNumber: `X${round}.${seed}.${number(7)}`,
      model: 'DX8000',
      family: 'axium',
      ...(next() < 0.6 ? { logicalDeviceExternalId: randomNames.logicalDevice() } : {}),
      ...(next() < 0.1 ? { merchantExternalId: randomNames.merchant() } : {}),
    }),
  };
  return (): Line & { type: string; operation: string; data: Members } => {
    const type = pick(['merchant', 'store', 'logicalDevice', 'physicalDevice'] as const);
    const operation = next() < 0.15 ? 'delete' : next() < 0.15 ? 'replace' : 'upsert';
    const name = randomNames[type]();
    return {
      type,
      operation,
      data: operation === 'delete' ? { externalId: name } : data[type](name),
    };
  };
}

/** Applies the lines by the single routes, one request after the other. */
function createClient(token: string) {
  const call = (method: string, path: string, body?: unknown) =>
    setup.call(token, method, path, defined({ body }));

  const find = async (type: string, externalId: unknown): Promise<Members | undefined> => {
    const path = `${paths[type]}?externalId=${externalId}`;
    return ((await call('GET', path)).body['items'] as Members[])[0];
  };

  const refused = ({ body }: Answer): LineOutcome => ({
    status: 'failed',
    code: body['code'],
    pointer: (body['errors'] as { pointer: string }[] | undefined)?.[0]?.pointer,
  });
  const unknown = (code: string): LineOutcome => ({ status: 'failed', code, pointer: undefined });

  /**
   * Replaces the parents' names by their identifiers; schema errors come before missing parents.
   */
  async function bodyOf(type: string, data: Members): Promise<Members | LineOutcome> {
    const { merchantExternalId, storeExternalId, logicalDeviceExternalId, ...body } = data;
    const parents = { merchant: merchantExternalId, store: storeExternalId };
    const missing: LineOutcome[] = [];
    for (const [parent, externalId] of Object.entries(parents)) {
      if (externalId === undefined) continue;
      const entity = await find(parent, externalId);
      if (entity === undefined) missing.push(unknown(`${parent}_not_found`));
      body[idOf(parent)] = entity?.[idOf(parent)] ?? '00000000-0000-7000-8000-000000000000';
    }
    if (missing.length === 0) return body;
    const checked = await call('POST', paths[type] ?? '', body);
    assert.notEqual(checked.status, 201);
    const isOfSchema = checked.status === 422 && !String(checked.body['detail']).includes('ISO');
    return isOfSchema ? refused(checked) : (missing[0] as LineOutcome);
  }

  /** Whether the place can take the device, which the import checks first. */
  function logicalDeviceFault(
    device: Members | undefined,
    logicalDevice: Members,
  ): LineOutcome | undefined {
    const linked = device?.['logicalDeviceId'];
    const ids = logicalDevice['physicalDeviceIds'] as string[];
    const isElsewhere = linked !== undefined && linked !== logicalDevice['logicalDeviceId'];
    if (!isElsewhere && (linked !== undefined || ids.length < 2)) return undefined;
    return { status: 'failed', code: 'field_invalid', pointer: '/logicalDeviceExternalId' };
  }

  return async ({ type = '', operation = '', data = {} }: Line): Promise<LineOutcome> => {
    const kind = String(type);
    const path = paths[kind] ?? '';
    const before = await find(kind, data['externalId']);
    const id = before?.[idOf(kind)];
    const lost = unknown(kind.endsWith('Device') ? 'device_not_found' : `${kind}_not_found`);
    if (operation === 'delete') {
      if (before === undefined) return lost;
      const removed = await call('DELETE', `${path}/${id}`);
      return removed.status === 204 ? { status: 'deleted' } : refused(removed);
    }
    const body = await bodyOf(kind, data);
    if ('status' in body && 'code' in body) return body as LineOutcome;
    const isNew = before === undefined;
    const { logicalDeviceExternalId: logicalDeviceName } = data;
    const logicalDevice =
      logicalDeviceName === undefined ? undefined : await find('logicalDevice', logicalDeviceName);
    const full = { ...(body as Members) };
    // An unknown member makes the server validate the body without any effect.
    const checked = await call('POST', path, { ...full, 'no-member': 1 });
    const faults = (checked.body['errors'] as { pointer: string }[]).filter(
      ({ pointer }) => pointer !== '/no-member',
    );
    const [fault] = faults as { pointer: string; code: string }[];
    if (fault !== undefined) return { status: 'failed', code: fault.code, pointer: fault.pointer };
    if (isNew && operation === 'replace') return lost;
    if (logicalDeviceName !== undefined) {
      // The merchant of a line limits the search for its place.
      const isWithin =
        (full['merchantId'] ?? logicalDevice?.['merchantId']) === logicalDevice?.['merchantId'];
      if (logicalDevice === undefined || !isWithin) return unknown('device_not_found');
      const wrong = logicalDeviceFault(before, logicalDevice);
      if (wrong !== undefined) return wrong;
      full['merchantId'] = logicalDevice['merchantId'];
    }
    const written = await call(isNew ? 'POST' : 'PUT', isNew ? path : `${path}/${id}`, full);
    if (written.status >= 300) return refused(written);
    if (logicalDevice !== undefined) {
      const ids = logicalDevice['physicalDeviceIds'] as string[];
      const physicalDeviceIds = [...new Set([...ids, String(written.body['physicalDeviceId'])])];
      const link = `${paths['logicalDevice']}/${logicalDevice['logicalDeviceId']}/physical-devices`;
      const linked = await call('PUT', link, { physicalDeviceIds });
      assert.equal(linked.status, 200, JSON.stringify(linked.body));
    }
    if (isNew) return { status: 'created' };
    const now = await find(kind, data['externalId']);
    const isSame =
      JSON.stringify({ ...before, updatedAt: 0 }) === JSON.stringify({ ...now, updatedAt: 0 });
    return { status: isSame ? 'unchanged' : 'replaced' };
  };
}

/** All objects of a caller, with names in place of identifiers. */
async function estateOf(token: string) {
  const items: Members[] = [];
  const names = new Map<string, string>();
  for (const [type, path] of Object.entries(paths)) {
    for (let cursor: unknown; cursor !== null; ) {
      const query = cursor === undefined ? '' : `&cursor=${cursor}`;
      const { body } = await setup.call(token, 'GET', `${path}?limit=200${query}`);
      for (const item of body['items'] as Members[]) {
        names.set(String(item[idOf(type)]), `${type} ${item['externalId']}`);
        items.push(item);
      }
      cursor = body['nextCursor'];
    }
  }
  const text = items.map((item) => {
    const { organizationId: _o, createdAt: _c, updatedAt: _u, ...members } = item;
    return JSON.stringify(members, (_name, value) =>
      typeof value === 'string' ? (names.get(value) ?? value.replace(/AXIUM[AB]/, 'AXIUM')) : value,
    );
  });
  return text
    .map((one) =>
      one.replace(
        /"physicalDeviceIds":\[(.*?)\]/,
        (_all, ids: string) => `"physicalDeviceIds":[${ids.split(',').sort()}]`,
      ),
    )
    .sort();
}

// Spec: PROV-26
test(`an import equals the single routes (seed ${seed})`, { timeout: 300_000 }, async () => {
  const next = createRandom(seed);
  const single = createClient('other');
  for (let round = 0; round < rounds; round += 1) {
    const makeLine = createLines(next, round);
    const lines = Array.from({ length: linesPerRound }, makeLine);
    // A terminal can belong to only one organisation of the platform, so the makes differ.
    const withMake = (make: string) =>
      lines.map((line) =>
        line.type === 'physicalDevice' && line.operation !== 'delete'
          ? { ...line, data: { ...line.data, make } }
          : line,
      );
    const { results, status, text } = await setup.lines(withMake('AXIUMA'));
    assert.equal(status, 200, text);
    for (const [index, line] of withMake('AXIUMB').entries()) {
      const { status: importedStatus, error } = results[index] ?? {};
      const expected = await single(line);
      assert.deepEqual(
        [importedStatus, error?.code, error?.errors?.[0]?.pointer],
        [expected.status, expected.code, expected.pointer],
        `round ${round}, line ${index + 1}: ${JSON.stringify(line)} got ${JSON.stringify(error)}`,
      );
    }
    assert.deepEqual(await estateOf('org'), await estateOf('other'));
  }
});
