// A service with many kinds of parameters, and helpers to configure it at each level.
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { type Answer, type CatalogueScene, openCatalogue, type Shop } from './test-catalog.ts';

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

export type ConfigurationScene = CatalogueScene & {
  /** Creates a service that is subscribed and active everywhere. */
  configured(declared?: object): Promise<string>;
  newShop(): Promise<Shop>;
  path(level: Level, entityId: string, serviceId: string): string;
  /** The configuration levels of a device, including the device itself. */
  levelsOf(shop: Shop): [Level, string][];
  submit(token: string, path: string, values: unknown, ifMatch?: string): Promise<Answer>;
  /** The configuration of the service that a device receives. */
  delivered(shop: Pick<Shop, 'deviceId'>, serviceId: string): ReturnType<typeof pick>;
};

type Delivered = Awaited<
  ReturnType<CatalogueScene['catalog']['configuration']['readDeviceConfiguration']>
>;

async function pick(configurations: Promise<Delivered>, serviceId: string) {
  const one = (await configurations).find((each) => each.serviceId === serviceId);
  assert.ok(one !== undefined, 'the service is not active at the device');
  return one;
}

export async function openConfigurationScene(): Promise<ConfigurationScene> {
  const scene = await openCatalogue();
  const { organizationId } = scene;
  return {
    ...scene,
    async configured(declared = declaration) {
      const { serviceId } = await scene.subscribed(declared);
      const level = { serviceId, level: 'Organization', entityId: organizationId };
      await scene.done('org', 'POST', '/activations', level);
      return serviceId;
    },
    newShop: () => scene.createShop(`place-${randomUUID()}`),
    path: (level, entityId, serviceId) =>
      `/configuration/v1/${level}/${entityId}/services/${serviceId}`,
    levelsOf: ({ merchantId, storeId, deviceId }) => [
      ['organizations', organizationId],
      ['merchants', merchantId],
      ['stores', storeId],
      ['logical-devices', deviceId],
    ],
    submit: (token, path, values, ifMatch) => scene.call(token, 'POST', path, { values }, ifMatch),
    delivered: ({ deviceId }, serviceId) =>
      pick(
        scene.catalog.configuration.readDeviceConfiguration(organizationId, deviceId),
        serviceId,
      ),
  };
}
