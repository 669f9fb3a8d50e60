// Writes the questions to an estate as HTTP text, and says which answers are right.

import type { HttpResponse } from '../sales/http-answers.ts';
import {
  deviceNameOf,
  estateId,
  externalIdOf,
  namePrefixOf,
  serialNumberOf,
} from './estate-plan.ts';

/** One organisation that is asked, with a token that may read and write all of it. */
export type EstateQueryTarget = {
  organizationId: string;
  number: number;
  devices: number;
  token: string;
};

export type EstateQuery = { text: string; judge(answer: HttpResponse): string | undefined };

const search = '/provisioning/v2/search';
const codeMember = /"code":"(\w+)"/;

/** The name of each kind of question, as the report shows it. */
export const queryTitles = {
  serial: 'serial number',
  external: 'external id',
  anything: 'serial number, whatever it is',
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

function tell({ status, bytes, bodyStart, bodyEnd }: HttpResponse): string {
  const body = bytes.toString('utf8', bodyStart, bodyEnd);
  return `${status} ${codeMember.exec(body)?.[1] ?? 'without what was asked for'}`;
}

/** Right is what has this status and this text in it. */
export function expectInBody(wanted: string, status = 200): EstateQuery['judge'] {
  const bytes = Buffer.from(wanted);
  return (answer) => {
    if (answer.status !== status) return tell(answer);
    const at = answer.bytes.indexOf(bytes, answer.bodyStart);
    return at < 0 || at > answer.bodyEnd ? tell(answer) : undefined;
  };
}

/**
 * Half of the questions go to the largest organisation, the others to all alike.
 *
 * @param authority host and port, as the server calls itself
 */
export function createEstateQueries(options: {
  authority: string;
  asked: readonly EstateQueryTarget[];
  firstMs: number;
  random: () => number;
}): EstateQueries {
  const { authority, asked, firstMs, random } = options;
  const below = (count: number) => Math.floor(random() * count);
  let inserted = 0;

  function pick(): EstateQueryTarget {
    const one = asked[random() < 0.5 ? 0 : below(asked.length)];
    if (one === undefined) throw new Error('no organisation can be asked');
    return one;
  }

  const headOf = ({ token }: EstateQueryTarget) =>
    `Host: ${authority}\r\nAuthorization: Bearer ${token}\r\n`;
  const get = (of: EstateQueryTarget, query: string) =>
    `GET ${search}?${query} HTTP/1.1\r\n${headOf(of)}\r\n`;

  function byPrefix(of: EstateQueryTarget, number: number, shared: number): EstateQuery {
    const prefix = namePrefixOf(number, shared);
    const query = `type=LogicalDevice&q=${encodeURIComponent(prefix)}`;
    return { text: get(of, query), judge: expectInBody(`"name":"${prefix}`) };
  }

  return {
    question(name) {
      const of = pick();
      const number = below(of.devices);
      if (name === 'serial' || name === 'anything') {
        const serial = serialNumberOf(of.number, number);
        const query = name === 'serial' ? `serialNumber=${serial}` : `q=${serial}`;
        return {
          text: get(of, query),
          judge: expectInBody(estateId('physical', firstMs, of.number, number)),
        };
      }
      if (name === 'external') {
        const query = `type=LogicalDevice&externalId=${externalIdOf(number)}`;
        return {
          text: get(of, query),
          judge: expectInBody(estateId('logical', firstMs, of.number, number)),
        };
      }
      return byPrefix(of, number, Number(name.slice('prefix-'.length)));
    },
    insert() {
      const of = pick();
      const storeId = estateId('store', firstMs, of.number, 0);
      inserted += 1;
      const body = JSON.stringify({ storeId, name: deviceNameOf(of.devices + inserted) });
      const text =
        `POST /provisioning/v2/logical-devices HTTP/1.1\r\n${headOf(of)}` +
        `Content-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`;
      return { text, judge: expectInBody('"logicalDeviceId"', 201) };
    },
  };
}
