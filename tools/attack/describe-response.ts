// Names and judges responses without their identifiers, so that equal responses are counted together.
import type { HttpResponse } from '../../packages/server/test/support/https-client.ts';

type ResponseSummary = Pick<HttpResponse, 'status'> & Partial<Pick<HttpResponse, 'body'>>;

/** @example describeResponse(answer); // '404 resource_not_found' */
export function describeResponse({ status, body }: ResponseSummary): string {
  const word = body?.code ?? body?.error ?? body?.status ?? '';
  return `${status} ${typeof word === 'string' ? word : ''}`.trim();
}

/** The platform refused the request. A 5xx is a fault, and no defence. */
export const isClientError = (status: number): boolean => status >= 400 && status < 500;

const identifiers = /[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}/g;
const times = /\d{4}-\d\d-\d\dT[\d:.]+Z/g;

/** The text of a response without the parts that differ between any two responses. */
export function toComparableText(
  { status, text }: HttpResponse,
  ...own: readonly string[]
): string {
  const textWithoutNames = own.reduce((rest, each) => rest.replaceAll(each, '*'), text);
  return `${status} ${textWithoutNames.replace(identifiers, 'id').replace(times, 'time')}`;
}
