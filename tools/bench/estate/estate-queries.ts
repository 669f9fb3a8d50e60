// Writes the questions to an estate as HTTP text, and says which answers are right.

import type { HttpResponse } from '../sales/http-answers.ts';
import {
  deviceNameOf,
  estateId,
  externalIdOf,
  namePrefixOf,
  serialNumberOf,
} from './estate-plan.ts';

/** One organisation that is queried, with a token that may read and write all of it. */
export type EstateQueryTarget = {
  organizationId: string;
  number: number;
  devices: number;
  token: string;
};

export type EstateQuery = { text: string; faultOf(answer: HttpResponse): string | undefined };

const search = '/provisioning/v2/search';
const codeMember = /"code":"(\w+)"/;

/** The name of each kind of question, as the report shows it. */
export const queryTitles = {
  serial: 'serial number',
  external: 'external id',
  anything: 'serial number without a filter',
  'prefix-10': 'name prefix of 10 devices',
  'prefix-100': 'name prefix of 100 devices',
  'prefix-10000': 'name prefix of 10,000 devices',
} as const;
export type QueryName = keyof typeof queryTitles;
export const queryNames = Object.keys(queryTitles) as QueryName[];

export type EstateQueries = {
  question(name: QueryName): EstateQuery;
  /** A new logical device in one of the stores. */
  insert(): EstateQuery;
};

function describeFailure({ status, bytes, bodyStart, bodyEnd }: HttpResponse): string {
  const body = bytes.toString('utf8', bodyStart, bodyEnd);
  return `${status} ${codeMember.exec(body)?.[1] ?? 'without what was asked for'}`;
}

/** Right is what has this status and this text in it. */
export function expectInBody(expected: string, status = 200): EstateQuery['faultOf'] {
  const bytes = Buffer.from(expected);
  return (answer) => {
    if (answer.status !== status) return describeFailure(answer);
    const at = answer.bytes.indexOf(bytes, answer.bodyStart);
    return at < 0 || at > answer.bodyEnd ? describeFailure(answer) : undefined;
  };
}

/**
 * Half of the questions go to the largest organisation, the others to all alike.
 *
 * @param authority host and port, as the server calls itself
 */
export function createEstateQueries(options: {
  authority: string;
  targets: readonly EstateQueryTarget[];
  firstMs: number;
  random: () => number;
}): EstateQueries {
  const { authority, targets, firstMs, random } = options;
  const below = (count: number) => Math.floor(random() * count);
  let inserted = 0;

  function pick(): EstateQueryTarget {
    const one = targets[random() < 0.5 ? 0 : below(targets.length)];
    if (one === undefined) throw new Error('no organisation can be asked');
    return one;
  }

  const headOf = ({ token }: EstateQueryTarget) =>
    `Host: ${authority}\r\nAuthorization: Bearer ${token}\r\n`;
  const get = (organization: EstateQueryTarget, query: string) =>
    `GET ${search}?${query} HTTP/1.1\r\n${headOf(organization)}\r\n`;

  function byPrefix(organization: EstateQueryTarget, number: number, shared: number): EstateQuery {
    const prefix = namePrefixOf(number, shared);
    const query = `type=LogicalDevice&q=${encodeURIComponent(prefix)}`;
    return { text: get(organization, query), faultOf: expectInBody(`"name":"${prefix}`) };
  }

  return {
    question(name) {
      const organization = pick();
      const number = below(organization.devices);
      if (name === 'serial' || name === 'anything') {
        const serial = serialNumberOf(organization.number, number);
        const query = name === 'serial' ? `serialNumber=${serial}` : `q=${serial}`;
        return {
          text: get(organization, query),
          faultOf: expectInBody(estateId('physical', firstMs, organization.number, number)),
        };
      }
      if (name === 'external') {
        const query = `type=LogicalDevice&externalId=${externalIdOf(number)}`;
        return {
          text: get(organization, query),
          faultOf: expectInBody(estateId('logical', firstMs, organization.number, number)),
        };
      }
      return byPrefix(organization, number, Number(name.slice('prefix-'.length)));
    },
    insert() {
      const organization = pick();
      const storeId = estateId('store', firstMs, organization.number, 0);
      inserted += 1;
      const body = JSON.stringify({ storeId, name: deviceNameOf(organization.devices + inserted) });
      const text =
        `POST /provisioning/v2/logical-devices HTTP/1.1\r\n${headOf(organization)}` +
        `Content-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`;
      return { text, faultOf: expectInBody('"logicalDeviceId"', 201) };
    },
  };
}
