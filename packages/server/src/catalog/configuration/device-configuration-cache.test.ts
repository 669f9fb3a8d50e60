import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createParameterValidator } from '../parameters/parameter-validator.ts';
import { createSecretCipher } from '../parameters/secret-encryption.ts';
import { createDeviceConfigurations } from './device-configuration.ts';
import { createConfigurationEvaluator } from './effective-configuration.ts';
import { toReleaseParameters } from './release-cache.ts';

const organizationId = 'organisation';
const serviceId = 'service';
const name = { serviceId, release: 1 };
const parameterSchema = { type: 'object', properties: { footer: { type: 'string' } } };
const release = toReleaseParameters(name, {
  name: 'Receipts',
  domain: 'Receipts',
  parameterSchema,
});

/** Simulates rows that another process writes, a movable clock, and a count of database queries. */
function createTestConfigurations() {
  let now = 0;
  let queryCount = 0;
  let rows: Record<string, unknown>[] = [];
  let pendingRead: Promise<void> = Promise.resolve();
  const devices = createDeviceConfigurations({
    queries: {
      shards: async () => undefined,
      async query() {
        queryCount += 1;
        const read = rows;
        await pendingRead;
        return read as never;
      },
    },
    clock: { now: () => now },
    activeServices: {
      listActiveServices: async () => [
        {
          ...name,
          providerId: 'p',
          name: 'Receipts',
          domain: 'Receipts',
          methods: [],
          paymentTypes: [],
        },
      ],
    },
    releases: async (names) => names.map(() => release),
    evaluator: createConfigurationEvaluator(createParameterValidator(), {}),
    secretCipher: createSecretCipher(Buffer.alloc(32, 7), 'configuration'),
  });
  return {
    devices,
    queryCount: () => queryCount,
    pass(ms: number) {
      now += ms;
    },
    write(footer: string, version: number) {
      rows = [
        {
          organization_id: organizationId,
          entity_id: 'store',
          service_id: serviceId,
          level: 'Store',
          version,
          release: 1,
          own_values: { footer },
          secrets_sealed: null,
          updated_at: new Date(0),
        },
      ];
    },
    hold(until: Promise<void>) {
      pendingRead = until;
    },
    async footer(deviceId = 'device') {
      const [one] = await devices.readDeviceConfiguration(organizationId, deviceId);
      return one?.values?.['footer'];
    },
  };
}

// Spec: PROV-46
test('the cache shows changes of another process after five seconds, and changes of this process immediately', async () => {
  const configurations = createTestConfigurations();
  configurations.write('one', 1);
  assert.equal(await configurations.footer(), 'one');
  configurations.write('two', 2);
  configurations.pass(4_999);
  assert.equal(await configurations.footer(), 'one');
  assert.equal(configurations.queryCount(), 1);
  configurations.pass(1);
  assert.equal(await configurations.footer(), 'two');
  configurations.write('three', 3);
  configurations.devices.clearCache('another organisation');
  assert.equal(await configurations.footer(), 'two');
  configurations.devices.clearCache(organizationId);
  assert.equal(await configurations.footer(), 'three');
  configurations.write('four', 4);
  configurations.devices.clearCache();
  assert.equal(await configurations.footer(), 'four');
});

test('concurrent requests for one device cause one database query', async () => {
  const configurations = createTestConfigurations();
  configurations.write('one', 1);
  const footers = await Promise.all(Array.from({ length: 20 }, () => configurations.footer()));
  assert.deepEqual(new Set(footers), new Set(['one']));
  assert.equal(configurations.queryCount(), 1);
  await configurations.footer('another device');
  assert.equal(configurations.queryCount(), 2);
});

// Spec: PROV-46
test('a value that was read before a change is not cached after the change', async () => {
  const configurations = createTestConfigurations();
  configurations.write('old', 1);
  let release = (): void => {};
  configurations.hold(
    new Promise((resolve) => {
      release = resolve;
    }),
  );
  const early = configurations.footer();
  while (configurations.queryCount() === 0) await Promise.resolve();
  configurations.write('new', 2);
  configurations.devices.clearCache(organizationId);
  const late = configurations.footer();
  release();
  assert.equal(await early, 'old');
  assert.equal(await late, 'new');
  assert.equal(await configurations.footer(), 'new');
});

test('the cache repeats a query after it failed', async () => {
  const configurations = createTestConfigurations();
  configurations.write('one', 1);
  const broken = Promise.reject(new Error('the line is down'));
  broken.catch(() => {});
  configurations.hold(broken);
  await assert.rejects(configurations.footer(), /the line is down/);
  configurations.hold(Promise.resolve());
  assert.equal(await configurations.footer(), 'one');
});
