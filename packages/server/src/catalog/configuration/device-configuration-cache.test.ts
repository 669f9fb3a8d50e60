import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createParameterValidator } from '../parameters/parameter-validator.ts';
import { createSecretCipher } from '../parameters/secret-encryption.ts';
import type { ConfigurationRow } from './configuration-sql.ts';
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
function openDoor() {
  let now = 0;
  let asked = 0;
  let rows: ConfigurationRow[] = [];
  let held: Promise<void> = Promise.resolve();
  const devices = createDeviceConfigurations({
    async run() {
      asked += 1;
      const read = rows;
      await held;
      return read;
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
    asked: () => asked,
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
      held = until;
    },
    async footer(deviceId = 'device') {
      const [one] = await devices.readDeviceConfiguration(organizationId, deviceId);
      return one?.values?.['footer'];
    },
  };
}

test('what another process changed is seen within seconds, what this one changed at once', async () => {
  const door = openDoor();
  door.write('one', 1);
  assert.equal(await door.footer(), 'one');
  door.write('two', 2);
  door.pass(4_999);
  assert.equal(await door.footer(), 'one');
  assert.equal(door.asked(), 1);
  door.pass(1);
  assert.equal(await door.footer(), 'two');
  door.write('three', 3);
  door.devices.clearCache('another organisation');
  assert.equal(await door.footer(), 'two');
  door.devices.clearCache(organizationId);
  assert.equal(await door.footer(), 'three');
  door.write('four', 4);
  door.devices.clearCache();
  assert.equal(await door.footer(), 'four');
});

test('many who ask at once are one question', async () => {
  const door = openDoor();
  door.write('one', 1);
  const told = await Promise.all(Array.from({ length: 20 }, () => door.footer()));
  assert.deepEqual(new Set(told), new Set(['one']));
  assert.equal(door.asked(), 1);
  await door.footer('another device');
  assert.equal(door.asked(), 2);
});

test('what was read before a change is not remembered after it', async () => {
  const door = openDoor();
  door.write('old', 1);
  let release = (): void => {};
  door.hold(
    new Promise((resolve) => {
      release = resolve;
    }),
  );
  const early = door.footer();
  while (door.asked() === 0) await Promise.resolve();
  door.write('new', 2);
  door.devices.clearCache(organizationId);
  const late = door.footer();
  release();
  assert.equal(await early, 'old');
  assert.equal(await late, 'new');
  assert.equal(await door.footer(), 'new');
});

test('a question that failed is asked again', async () => {
  const door = openDoor();
  door.write('one', 1);
  const broken = Promise.reject(new Error('the line is down'));
  broken.catch(() => {});
  door.hold(broken);
  await assert.rejects(door.footer(), /the line is down/);
  door.hold(Promise.resolve());
  assert.equal(await door.footer(), 'one');
});
