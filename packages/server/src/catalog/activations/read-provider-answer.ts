// Reads a provider's answer within limits, and never takes an unclear answer as an approval.
import { isObject, parseJsonObject } from '@switchyard/contract';
import { hideCardNumbers } from '@switchyard/emv';
import { type CallResult, redactText } from '../../platform/index.ts';
import { parametersMaxBytes } from '../parameters/parameter-validator.ts';
import type { ParameterValues } from '../parameters/types.ts';

const reasonMaxChars = 500;
const httpOk = 200;
const httpAccepted = 202;
const noReason = 'The provider gave no reason.';

export type ProviderAnswer =
  | { readonly step: 'accept'; readonly parameters?: ParameterValues }
  | { readonly step: 'refuse'; readonly reason: string }
  | { readonly step: 'postpone' }
  /** No valid answer: the server calls the provider again. */
  | { readonly step: 'repeat'; readonly fault: string };

/** U+0000 and lone surrogates as JSON escapes; PostgreSQL cannot store them in jsonb. */
const unstorable = /\\u(?:0000|d[89a-f])/i;

/** Returns undefined for a value that is no object, is too long or cannot be stored. */
export function readParameters(value: unknown): ParameterValues | undefined {
  if (!isObject(value)) return undefined;
  const text = JSON.stringify(value);
  if (Buffer.byteLength(text) > parametersMaxBytes || unstorable.test(text)) return undefined;
  return value;
}

export function readReason(value: unknown): string {
  if (typeof value !== 'string') return noReason;
  const text = value
    .toWellFormed()
    .slice(0, reasonMaxChars)
    .toWellFormed()
    // biome-ignore lint/suspicious/noControlCharactersInRegex: characters that a line of text cannot hold
    .replace(/[\s\u0000-\u001f\u007f]+/g, ' ')
    .trim();
  return text === '' ? noReason : hideCardNumbers(redactText(text));
}

export function readProviderAnswer(result: CallResult): ProviderAnswer {
  if (result.fault !== undefined) return { step: 'repeat', fault: result.fault };
  if (result.status === httpAccepted) return { step: 'postpone' };
  if (result.status !== httpOk) return { step: 'repeat', fault: `status ${result.status}` };
  const answer = parseJsonObject(result.body);
  if (answer?.['status'] === 'Refused') {
    return { step: 'refuse', reason: readReason(answer['reason']) };
  }
  if (answer?.['status'] !== 'Accepted') return { step: 'repeat', fault: 'answer_unreadable' };
  if (answer['parameters'] === undefined) return { step: 'accept' };
  const parameters = readParameters(answer['parameters']);
  if (parameters === undefined) return { step: 'repeat', fault: 'parameters_unreadable' };
  return { step: 'accept', parameters };
}
