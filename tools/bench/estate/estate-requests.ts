// The requests of the estate, and their right answers: searches, new devices, configurations.
import type { LoadRequest } from '../sales/fixed-rate-load.ts';
import { expectInBody, writeRequest } from '../sales/http-text.ts';
import {
  deviceNameOf,
  estateId,
  externalIdOf,
  namePrefixOf,
  serialNumberOf,
} from './estate-plan.ts';

/** One organisation that is queried, with a token that may read and write all of it. */
export type EstateTarget = {
  organizationId: string;
  realm: string;
  number: number;
  devices: number;
  token: string;
};

type Search = { query: string; expected: string };

type SearchCase = {
  title: string;
  /** The search for one device of an organisation. */
  search(organization: number, device: number, firstMs: number): Search;
};

const prefixCase = (shared: number): SearchCase => ({
  title: `name prefix of ${shared.toLocaleString('en')} devices`,
  search(_organization, device) {
    const prefix = namePrefixOf(device, shared);
    const query = `type=LogicalDevice&q=${encodeURIComponent(prefix)}`;
    return { query, expected: `"name":"${prefix}` };
  },
});

const serialCase = (title: string, member: string): SearchCase => ({
  title,
  search: (organization, device, firstMs) => ({
    query: `${member}=${serialNumberOf(organization, device)}`,
    expected: estateId('physical', firstMs, organization, device),
  }),
});

const externalCase: SearchCase = {
  title: 'external id',
  search: (organization, device, firstMs) => ({
    query: `type=LogicalDevice&externalId=${externalIdOf(device)}`,
    expected: estateId('logical', firstMs, organization, device),
  }),
};

export const searchCases = {
  serial: serialCase('serial number', 'serialNumber'),
  external: externalCase,
  anything: serialCase('serial number without a filter', 'q'),
  'prefix-10': prefixCase(10),
  'prefix-100': prefixCase(100),
  'prefix-10000': prefixCase(10_000),
};
export type SearchName = keyof typeof searchCases;

export type EstateRequests = {
  search(name: SearchName): LoadRequest;
  /** A new logical device in one of the stores. */
  insert(): LoadRequest;
  /** One service at a device of the largest organisation, for its owner. */
  serviceConfiguration(serviceIds: readonly string[]): LoadRequest;
  /** All services of a device, for the device itself. */
  deviceConfiguration(deviceTokens: readonly string[]): LoadRequest;
};

// The footer comes from the merchant, between the inherited and the overridden values.
const configurationFault = expectInBody('"footer":"Thank you"');

/** Half of the searches go to the largest organisation, the others to all alike. */
export function createEstateRequests(options: {
  /** Host and port by which the server calls itself. */
  authority: string;
  targets: readonly EstateTarget[];
  firstMs: number;
  random: () => number;
}): EstateRequests {
  const { authority, targets, firstMs, random } = options;
  const below = (count: number) => Math.floor(random() * count);
  const get = (token: string, path: string) => writeRequest(authority, { path, token });
  let inserted = 0;

  function pick<Item>(items: readonly Item[]): Item {
    const item = items[below(items.length)];
    if (item === undefined) throw new Error('there is nothing to request');
    return item;
  }
  const pickOrganization = () => pick(random() < 0.5 ? targets.slice(0, 1) : targets);

  return {
    search(name) {
      const { number, devices, token } = pickOrganization();
      const { query, expected } = searchCases[name].search(number, below(devices), firstMs);
      const text = get(token, `/provisioning/v2/search?${query}`);
      return { text, faultOf: expectInBody(expected) };
    },
    insert() {
      const { number, devices, token } = pickOrganization();
      inserted += 1;
      const storeId = estateId('store', firstMs, number, 0);
      const body = JSON.stringify({ storeId, name: deviceNameOf(devices + inserted) });
      const path = '/provisioning/v2/logical-devices';
      const text = writeRequest(authority, { method: 'POST', path, token, body });
      return { text, faultOf: expectInBody('"logicalDeviceId"', 201) };
    },
    serviceConfiguration(serviceIds) {
      const { number, devices, token } = pick(targets.slice(0, 1));
      const id = estateId('logical', firstMs, number, below(devices));
      const path = `/configuration/v1/logical-devices/${id}/services/${pick(serviceIds)}`;
      return { text: get(token, path), faultOf: configurationFault };
    },
    deviceConfiguration: (deviceTokens) => ({
      text: get(pick(deviceTokens), '/configuration/v1/device'),
      faultOf: configurationFault,
    }),
  };
}
