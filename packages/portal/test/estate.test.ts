// The rules of the estate's screens: forms and bodies, live presence, moves of hardware, the state of a link.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { type ConnectedDevice, type DeviceCounts, defined } from '@switchyard/contract';
import {
  type Field,
  fieldError,
  formDraft,
  inlineErrors,
  isComplete,
  requestBody,
  sectionFields,
} from '../src/components/forms/form-fields.ts';
import {
  type LinkStateItem,
  linkStateOf,
  sumLinkStates,
} from '../src/screens/acquirers/link-state.ts';
import {
  type ConnectionsApi,
  type LiveConnections,
  readLiveConnections,
} from '../src/screens/devices/live-connections.ts';
import { type MoveApi, moveDevice } from '../src/screens/devices/move-device.ts';
import {
  contractSections,
  deviceFormSections,
  linkSections,
  logicalDeviceFormSections,
  merchantSections,
  pointOfSaleFormSections,
  storeFormSections,
} from '../src/screens/estate/form-sections.ts';

type Tree = { readonly [key: string]: string | Tree };

const merchantFields = sectionFields(merchantSections);
const allSections = {
  merchant: merchantSections,
  store: storeFormSections(true),
  place: logicalDeviceFormSections,
  device: deviceFormSections(true),
  pointOfSale: pointOfSaleFormSections,
  isoLink: linkSections({ adapter: 'Iso8583Host' }),
  httpLink: linkSections({ adapter: 'HttpJson' }),
  contract: contractSections,
};

describe('a form of the estate', () => {
  const merchant = {
    merchantId: 'm',
    name: 'Lumière',
    country: 'FR',
    mcc: '5814',
    timeZone: 'Europe/Paris',
    address: { line1: '12 quai de Valmy', city: 'Paris' },
    labels: { region: 'north' },
    status: 'Enabled',
  };

  test('an unchanged form returns the original body', () => {
    assert.deepEqual(
      requestBody(merchantFields, formDraft(merchantFields, merchant), merchant),
      merchant,
    );
  });

  test('empty members and empty parent objects are omitted', () => {
    const draft = {
      ...formDraft(merchantFields, merchant),
      'address.line1': ' ',
      'address.city': '',
      'contact.email': ' a@b.example ',
      externalId: '',
    };
    const body = requestBody(merchantFields, draft, merchant);
    assert.equal('address' in body, false);
    assert.equal('externalId' in body, false);
    assert.deepEqual(body['contact'], { email: 'a@b.example' });
    assert.deepEqual(merchant.address.city, 'Paris', 'what was read stays as it was');
  });

  test('members that the form does not show stay unchanged', () => {
    const contract = {
      contractId: 'c',
      routing: [{ schemes: ['Visa'] }],
      offlineLimits: { maxAmounts: { EUR: 5000 }, maxAgeHours: 168, maxCount: 1000 },
      holdDays: 30,
    };
    const fields = sectionFields(contractSections);
    const draft = { ...formDraft(fields, contract), holdDays: '7', 'offlineLimits.maxCount': '2' };
    const body = requestBody(fields, draft, contract);
    assert.deepEqual(body['routing'], contract.routing);
    assert.equal(body['holdDays'], 7);
    assert.deepEqual(body['offlineLimits'], {
      maxAmounts: { EUR: 5000 },
      maxAgeHours: 168,
      maxCount: 2,
    });
  });

  test('an invalid number is sent as text', () => {
    const fields: Field[] = [{ name: 'port', kind: 'number' }];
    assert.deepEqual(requestBody(fields, { port: '8583' }), { port: 8583 });
    assert.deepEqual(requestBody(fields, { port: '85 83' }), { port: '85 83' });
    assert.deepEqual(requestBody(fields, { port: '' }), {});
  });

  test('empty label rows are ignored', () => {
    const fields: Field[] = [{ name: 'labels', kind: 'labels' }];
    const draft = { labels: [['region', ' north '] as const, ['', ''] as const] };
    assert.deepEqual(requestBody(fields, draft), { labels: { region: 'north' } });
    assert.deepEqual(requestBody(fields, { labels: [] }, { labels: { a: 'b' } }), { labels: {} });
  });

  test('the form can be sent when all required fields have a value', () => {
    const empty = formDraft(merchantFields, undefined);
    assert.equal(isComplete(merchantFields, empty), false);
    const merchantDraft = {
      ...empty,
      name: 'A',
      country: 'FR',
      timeZone: 'Europe/Paris',
      mcc: '5814',
    };
    assert.equal(isComplete(merchantFields, merchantDraft), true);
    assert.equal(isComplete(merchantFields, { ...merchantDraft, name: '   ' }), false);
  });

  test('each error is shown at its field, and all others below the form', () => {
    const faults = { 'address.city': 'Too long.', 'labels.region': 'Too short.', routing: 'No.' };
    assert.equal(fieldError(faults, 'address.city'), 'Too long.');
    assert.equal(fieldError(faults, 'labels'), 'Too short.');
    assert.equal(fieldError({ 'uris.1': 'No https.' }, 'uris'), '2: No https.');
    assert.equal(fieldError(faults, 'name'), undefined);
    assert.deepEqual(inlineErrors(faults, merchantFields), ['address.city', 'labels.region']);
  });

  for (const language of ['en', 'fr', 'de']) {
    test(`has all texts in ${language}`, () => {
      const path = join(import.meta.dirname, `../src/locales/${language}/estate/estate.json`);
      const words = JSON.parse(readFileSync(path, 'utf8')) as Tree;
      const wordOf = (key: string) =>
        key
          .split('.')
          .reduce<string | Tree | undefined>(
            (at, name) => (typeof at === 'object' ? at[name] : undefined),
            words,
          );
      const fieldKeys = Object.values(allSections)
        .flat()
        .flatMap(({ labelKey, fields }) => [
          `sections.${labelKey}`,
          ...fields.flatMap(({ name, hasHint, options = [] }) => [
            `fields.${name}`,
            ...(hasHint ? [`hints.${name}`] : []),
            ...options.map((option) => `options.${option}`),
          ]),
        ]);
      assert.ok(fieldKeys.length > 80);
      for (const key of fieldKeys) assert.equal(typeof wordOf(key), 'string', key);
    });
  }

  test('the link form changes its fields and initial values with the protocol', () => {
    const names = (adapter: string) =>
      sectionFields(linkSections({ adapter })).map(({ name }) => name);
    assert.ok(names('Iso8583Host').includes('dialect'));
    assert.ok(!names('HttpJson').includes('dialect'));
    assert.ok(names('HttpJson').includes('httpJson.acquirerKeys'));
    const draft = formDraft(sectionFields(linkSections({ adapter: '' })), undefined);
    assert.deepEqual([draft['adapter'], draft['tls']], ['Iso8583Host', true]);
  });
});

describe('live presence', () => {
  const counts = (at: string): DeviceCounts => ({
    at,
    devices: 3,
    online: 1,
    neverConnected: 1,
    disabled: 0,
    inStock: 0,
    certificateEnding: 0,
  });
  const device = (physicalDeviceId: string, status: 'Online' | 'Offline') =>
    ({ physicalDeviceId, connection: { status } }) as ConnectedDevice;
  const first = '2026-03-01T12:00:00.000Z';
  const second = '2026-03-01T12:00:10.000Z';

  test('it starts with counts and polls for changes since then', async () => {
    const requestedSince: string[] = [];
    const read: ConnectionsApi = {
      counts: async () => counts(requestedSince.length === 0 ? first : second),
      changes: async (since) => {
        requestedSince.push(since);
        return { items: [device('a', 'Online')], nextCursor: null };
      },
    };
    const start = await readLiveConnections(
      { ...read, counts: async () => counts(first) },
      undefined,
    );
    assert.equal(requestedSince.length, 0);
    const next = await readLiveConnections(read, start);
    assert.deepEqual(requestedSince, ['2026-03-01T11:59:55.000Z'], 'some seconds earlier');
    assert.equal(next.connections.get('a')?.status, 'Online');
    assert.equal(start.connections.size, 0, 'what was shown before does not change');
  });

  test('the latest change wins, and all pages of changes are read', async () => {
    const before: LiveConnections = {
      counts: counts(first),
      connections: new Map(),
      generation: 0,
    };
    const pages = [
      { items: [device('a', 'Online')], nextCursor: 'x' },
      { items: [device('a', 'Offline'), device('b', 'Online')], nextCursor: null },
    ];
    const cursors: unknown[] = [];
    const live = await readLiveConnections(
      {
        counts: async () => counts(second),
        changes: async (_since, cursor) => {
          cursors.push(cursor);
          return pages.shift() ?? { items: [], nextCursor: null };
        },
      },
      before,
    );
    assert.deepEqual(cursors, [undefined, 'x']);
    assert.equal(live.connections.get('a')?.status, 'Offline');
    assert.equal(live.generation, 0);
  });

  test('too many changes reload the list', async () => {
    const before: LiveConnections = {
      counts: counts(first),
      connections: new Map(),
      generation: 2,
    };
    let page = 0;
    const live = await readLiveConnections(
      {
        counts: async () => counts(second),
        changes: async () => {
          page += 1;
          const items = Array.from({ length: 200 }, (_, at) => device(`${page}-${at}`, 'Online'));
          return { items, nextCursor: String(page) };
        },
      },
      before,
    );
    assert.equal(page, 5, 'no further');
    assert.deepEqual([live.connections.size, live.generation], [0, 3]);
  });
});

describe('a move of hardware', () => {
  type DeviceLocation = { merchantId: string; ids: string[] };

  /** A platform with its own rules: hardware is in one place, and with the merchant of that place. */
  function platform(
    locations: Record<string, DeviceLocation>,
    at: string | undefined,
    merchantId?: string,
  ) {
    const device = { at, merchantId };
    const done: string[] = [];
    let broken = '';
    const api: MoveApi = {
      device: async (physicalDeviceId) => ({
        body: {
          physicalDeviceId,
          ...defined({ logicalDeviceId: device.at, merchantId: device.merchantId }),
        } as never,
        etag: '"d"',
      }),
      logicalDevice: async (id) => ({
        body: {
          merchantId: locations[id]?.merchantId,
          physicalDeviceIds: locations[id]?.ids ?? [],
        } as never,
        etag: '"p"',
      }),
      replaceDevice: async (_id, _etag, body) => {
        assert.equal(device.at, undefined, 'only what is linked to nothing changes its merchant');
        device.merchantId = (body as { merchantId: string }).merchantId;
        done.push('owner');
      },
      setHardware: async (id, _etag, ids) => {
        if (broken === id) throw new Error('no answer');
        const location = locations[id];
        assert.ok(location !== undefined && ids.length <= 2);
        if (ids.includes('d')) {
          assert.ok(device.at === undefined || device.at === id, 'is linked to another place');
          assert.ok(device.merchantId === undefined || device.merchantId === location.merchantId);
        }
        location.ids = [...ids];
        if (ids.includes('d')) device.at = id;
        else if (device.at === id) device.at = undefined;
        done.push(`fill ${id}`);
      },
    };
    const breakAt = (id: string) => {
      broken = id;
    };
    return { api, locations, device, done, breakAt };
  }

  const move = (logicalDeviceId: string | undefined, isSwap = false) => ({
    physicalDeviceId: 'd',
    logicalDeviceId,
    isSwap,
  });

  test('moves to another logical device, with or without replacing its hardware', async () => {
    const locations = () => ({
      a: { merchantId: 'm', ids: ['d', 'x'] },
      b: { merchantId: 'm', ids: ['y'] },
    });
    const beside = platform(locations(), 'a', 'm');
    await moveDevice(beside.api, move('b'));
    assert.deepEqual([beside.locations['a']?.ids, beside.locations['b']?.ids], [['x'], ['y', 'd']]);
    const swap = platform(locations(), 'a', 'm');
    await moveDevice(swap.api, move('b', true));
    assert.deepEqual(swap.locations['b']?.ids, ['d']);
  });

  test('moves to another merchant, and to stock', async () => {
    const fixture = platform(
      { a: { merchantId: 'm', ids: ['d'] }, b: { merchantId: 'n', ids: [] } },
      'a',
      'm',
    );
    await moveDevice(fixture.api, move('b'));
    assert.deepEqual(fixture.done, ['fill a', 'owner', 'fill b']);
    assert.equal(fixture.device.merchantId, 'n');
    await moveDevice(fixture.api, move(undefined));
    assert.equal(fixture.device.at, undefined);
  });

  test('continues an interrupted move without repeating a step', async () => {
    const fixture = platform(
      { a: { merchantId: 'm', ids: ['d'] }, b: { merchantId: 'n', ids: ['y'] } },
      'a',
      'm',
    );
    fixture.breakAt('b');
    await assert.rejects(moveDevice(fixture.api, move('b')), /no answer/);
    fixture.breakAt('');
    await moveDevice(fixture.api, move('b'));
    await moveDevice(fixture.api, move('b'));
    assert.deepEqual(fixture.done, ['fill a', 'owner', 'fill b']);
    assert.deepEqual(fixture.locations['b']?.ids, ['y', 'd']);
  });
});

describe('an acquirer link', () => {
  const facts = (more: Partial<LinkStateItem>): LinkStateItem => ({
    acquirerLinkId: 'l',
    name: 'north',
    available: true,
    usesPreviousSettings: false,
    queue: { length: 0, attempts: 0, alarms: 0 },
    alarm: false,
    ...more,
  });
  const enabled = { status: 'Enabled', approval: 'Approved' } as const;
  const fault = { pointer: '/macKey/keyRef', detail: 'Is unknown.' };

  test('the status is the worst known state', () => {
    assert.equal(linkStateOf(enabled, facts({})), 'Available');
    assert.equal(linkStateOf(enabled, facts({ available: false })), 'Unavailable');
    assert.equal(linkStateOf(enabled, facts({ available: false, alarm: true })), 'Alarm');
    assert.equal(linkStateOf(enabled, facts({ alarm: true, faults: [fault] })), 'Faulty');
    assert.equal(
      linkStateOf({ ...enabled, status: 'Disabled' }, facts({ alarm: true })),
      'Disabled',
    );
    assert.equal(
      linkStateOf({ ...enabled, approval: 'PendingApproval' }, undefined),
      'PendingApproval',
    );
    assert.equal(linkStateOf(enabled, undefined), 'Unknown');
  });

  test('the totals add all links', () => {
    const waiting = facts({
      available: false,
      alarm: true,
      queue: { length: 7, attempts: 9, alarms: 2 },
      faults: [fault],
    });
    assert.deepEqual(sumLinkStates([facts({}), waiting]), {
      links: 2,
      available: 1,
      waiting: 7,
      alarms: 2,
      faulty: 1,
    });
    assert.equal(sumLinkStates([]).waiting, 0);
  });
});
