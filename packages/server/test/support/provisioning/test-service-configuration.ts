// A service with many kinds of parameters, and helpers to configure it at each level.
import assert from 'node:assert/strict';
import {
  type Answer,
  type MerchantWithDevice,
  openCatalog,
  type TestCatalog,
} from './test-catalog.ts';

const text = { type: 'string', minLength: 1, maxLength: 40 };

/** A declaration of a provider of receipts, limits and accounts. */
export const declaration = {
  parameterSchema: {
    type: 'object',
    properties: {
      footer: text,
      floorLimit: { type: 'integer', minimum: 0, maximum: 5000, 'x-lowest-level': 'Merchant' },
      languages: { type: 'array', maxItems: 5, items: text },
      receipt: {
        type: 'object',
        properties: { header: text, copies: { type: 'integer', minimum: 0, maximum: 3 } },
      },
      account: {
        type: 'object',
        properties: { number: text, apiKey: { ...text, writeOnly: true } },
      },
      hosts: {
        type: 'object',
        maxProperties: 5,
        propertyNames: { type: 'string', pattern: '^[a-z]{1,8}$', maxLength: 8 },
        additionalProperties: {
          type: 'object',
          properties: {
            port: { type: 'integer', minimum: 1, maximum: 65535 },
            token: { ...text, writeOnly: true },
          },
        },
      },
      open: { type: 'object' },
    },
    required: ['footer'],
  },
  defaults: { footer: 'Thank you', receipt: { copies: 1 }, languages: ['en'] },
};

export type Level = 'organizations' | 'merchants' | 'stores' | 'logical-devices';

export type TestConfiguration = TestCatalog & {
  /** Creates a service that is subscribed and active everywhere. */
  configured(declared?: object): Promise<string>;
  path(level: Level, entityId: string, serviceId: string): string;
  /** The configuration levels of a device, including the device itself. */
  levelsOf(merchant: MerchantWithDevice): [Level, string][];
  submit(token: string, path: string, values: unknown, ifMatch?: string): Promise<Answer>;
  /** The configuration of the service that a device receives. */
  delivered(
    merchant: Pick<MerchantWithDevice, 'deviceId'>,
    serviceId: string,
  ): ReturnType<typeof pick>;
};

type Delivered = Awaited<
  ReturnType<TestCatalog['catalog']['configuration']['readDeviceConfiguration']>
>;

async function pick(configurations: Promise<Delivered>, serviceId: string) {
  const one = (await configurations).find((each) => each.serviceId === serviceId);
  assert.ok(one !== undefined, 'the service is not active at the device');
  return one;
}

export async function openConfiguration(): Promise<TestConfiguration> {
  const setup = await openCatalog();
  const { organizationId } = setup;
  return {
    ...setup,
    async configured(declared = declaration) {
      const { serviceId } = await setup.subscribed(declared);
      const level = { serviceId, level: 'Organization', entityId: organizationId };
      await setup.done('org', 'POST', '/activations', level);
      return serviceId;
    },
    path: (level, entityId, serviceId) =>
      `/configuration/v1/${level}/${entityId}/services/${serviceId}`,
    levelsOf: ({ merchantId, storeId, deviceId }) => [
      ['organizations', organizationId],
      ['merchants', merchantId],
      ['stores', storeId],
      ['logical-devices', deviceId],
    ],
    submit: (token, path, values, ifMatch) => setup.call(token, 'POST', path, { values }, ifMatch),
    delivered: ({ deviceId }, serviceId) =>
      pick(
        setup.catalog.configuration.readDeviceConfiguration(organizationId, deviceId),
        serviceId,
      ),
  };
}
