/** Reads the code and the sentence of a problem response, for a client that shows or logs them. */
import { defined } from './defined.ts';

/**
 * The code and detail in the body of a problem response.
 *
 * @example
 * const { code, detail }: ProblemBody = readProblemBody(body);
 */
export type ProblemBody = {
  /** `code` of a problem (RFC 9457), or `error` of RFC 6749. */
  readonly code?: string;
  /** `detail` of a problem, `error_description` of RFC 6749, or the title of the problem. */
  readonly detail?: string;
};

const codeForm = /^[a-z][a-z0-9_]{0,63}$/;
const detailCharsMax = 300;

const codeIn = (value: unknown): string | undefined =>
  typeof value === 'string' && codeForm.test(value) ? value : undefined;

/** Limits the text to one short line, because it can come from a proxy or another token server. */
function sentenceIn(value: unknown): string | undefined {
  if (typeof value !== 'string') return undefined;
  const line = value.replaceAll(/[\p{C}\p{Z}]+/gu, ' ').trim();
  return line === '' ? undefined : line.slice(0, detailCharsMax);
}

/**
 * Reads the code and the sentence from the body of a refusal.
 *
 * @param body - the body as text
 * @returns both if present; an empty object for a body that is not a JSON object
 * @example
 * readProblemBody('{"code":"role_missing"}'); // { code: 'role_missing' }
 */
export function readProblemBody(body: string): ProblemBody {
  let members: Readonly<Record<string, unknown>>;
  try {
    members = Object(JSON.parse(body));
  } catch {
    return {};
  }
  const { code, error, detail, error_description: description, title } = members;
  return defined({
    code: codeIn(code) ?? codeIn(error),
    detail: sentenceIn(detail) ?? sentenceIn(description) ?? sentenceIn(title),
  });
}

/**
 * Formats a refusal for the end of a message: the status, and the code and sentence if present.
 *
 * @param status - the HTTP status
 * @param refusal - the code and detail from the body
 * @returns for example `403 role_missing: The application has not the role.`
 * @example
 * throw new Error(`the handshake was answered with ${problemText(status, readProblemBody(body))}`);
 */
export function problemText(status: number, { code, detail }: ProblemBody): string {
  const head = code === undefined ? `${status}` : `${status} ${code}`;
  return detail === undefined ? head : `${head}: ${detail}`;
}
