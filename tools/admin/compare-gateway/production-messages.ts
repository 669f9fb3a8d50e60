// The functions of the running platform that build messages and check responses, for one host table.
import { defined } from '@switchyard/contract';
import type { CompiledHost, Message } from '@switchyard/iso8583';
import {
  type AcquirerOutcome,
  type AcquirerRequest,
  networkMessage,
  toAcquirerOutcome,
  toIso8583Message,
} from '../../../packages/server/src/acquiring/index.ts';

export type ProductionMessages = ReturnType<typeof createProductionMessages>;

const networkRequests = ['signOn', 'signOff', 'echo', 'keyRequest'] as const;
const networkFunctionField = 70;
const amountAndCurrencyFields = [4, 49, 95] as const;

export function createProductionMessages(host: CompiledHost) {
  const { table, correlation } = host;
  const { signOnBy } = table.network;
  return {
    /** The canonical message that the platform sends for a payment. */
    build: (request: AcquirerRequest, institutionId: string): Message =>
      host.takeOriginalNumbers(toIso8583Message(request, institutionId, table)),
    /** The network message of the same function; undefined if the platform sends none. */
    buildNetworkMessage({ fields }: Message): Message | undefined {
      const trace = { stan: fields[11] ?? '', transmittedAt: fields[7] ?? '' };
      // A sign-on for one terminal names it.
      const { 41: terminal, 42: merchant } = signOnBy === 'Terminal' ? fields : {};
      return networkRequests
        .map((kind) => networkMessage(kind, trace, defined({ 41: terminal, 42: merchant })))
        .find((each) => each.fields[networkFunctionField] === fields[networkFunctionField]);
    },
    /** The same text for a request and its response. */
    correlationKey: correlation.keyOf,
    /** The fields of a response that the platform compares with the request. */
    comparedFields: [
      ...Object.keys(table.correlation.echo).map(Number),
      ...amountAndCurrencyFields,
    ],
    outcome: (request: Message, response: Message, currency: string): AcquirerOutcome =>
      toAcquirerOutcome(request, response, currency, host),
  };
}
