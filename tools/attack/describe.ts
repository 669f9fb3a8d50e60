// Names a response by its status and code, without identifiers, so that equal responses are counted together.
import type { Answer } from '../../packages/server/test/support/https-client.ts';

type Told = Pick<Answer, 'status' | 'body'>;

/** @example describeAnswer(answer); // '404 resource_not_found' */
export function describeAnswer({ status, body }: Told): string {
  const word = body?.code ?? body?.error ?? body?.status ?? '';
  return `${status} ${typeof word === 'string' ? word : ''}`.trim();
}

const identifiers = /[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}/g;
const times = /\d{4}-\d\d-\d\dT[\d:.]+Z/g;

/** The text of a response without what differs between any two responses. */
export function comparable({ status, text }: Answer, ...own: readonly string[]): string {
  const named = own.reduce((rest, each) => rest.replaceAll(each, '*'), text);
  return `${status} ${named.replace(identifiers, 'id').replace(times, 'time')}`;
}
