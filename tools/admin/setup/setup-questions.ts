// The questions of `switchyard admin setup` on a terminal. The answers become the file.
import { createInterface } from 'node:readline';
import type { RuntimeEnvironment } from '../../../packages/cli/src/runtime/runtime-environment.ts';

type Answers = Readonly<Record<string, string>>;
type Value = string | number | boolean | readonly string[];

type Question = {
  /** The section and the member of the file. */
  readonly path: readonly [section: string, ...members: string[]];
  readonly text: string;
  /** Used if the answer is empty; an optional member is left out then. */
  readonly default?: string | ((answers: Answers) => string);
  readonly isOptional?: true;
  /** Leaves the question out. */
  readonly skip?: (answers: Answers) => boolean;
  readonly parse?: (answer: string) => Value;
  /** Another answer repeats the question. */
  readonly pattern?: RegExp;
};

const parseList = (answer: string) => answer.split(/[\s,]+/).filter((part) => part !== '');
const yesOrNo = /^(?:y(?:es)?|no?)$/i;
const parseYes = (answer: string) => /^y/i.test(answer);
const parseNumber = (answer: string) => (/^\d+$/.test(answer) ? Number(answer) : answer);
const isOperatorAcquirer = (answers: Answers) => answers['acquirer.name'] === undefined;

const questions: readonly Question[] = [
  { path: ['operator', 'name'], text: 'Name of the operator', default: 'Platform' },
  {
    path: ['operator', 'administrator'],
    text: 'Mail address of the first administrator of the operator (empty: none)',
    isOptional: true,
  },
  {
    path: ['acquirer', 'name'],
    text: 'Name of the acquirer (empty: the operator is the acquirer)',
    isOptional: true,
  },
  {
    path: ['acquirer', 'userDomain'],
    text: 'User domain of the acquirer: small letters, digits and hyphens',
    skip: isOperatorAcquirer,
    default: (answers) =>
      (answers['acquirer.name'] ?? '')
        .normalize('NFKD')
        .toLowerCase()
        .replace(/[^a-z0-9 -]/g, '')
        .trim()
        .replace(/[ -]+/g, '-'),
  },
  {
    path: ['acquirer', 'administrator'],
    text: 'Mail address of the first administrator of the acquirer (empty: none)',
    skip: isOperatorAcquirer,
    isOptional: true,
  },
  { path: ['link', 'name'], text: 'Name of the acquirer link', default: 'host' },
  { path: ['link', 'host'], text: 'Host of the acquirer' },
  { path: ['link', 'port'], text: 'Port of the acquirer', parse: parseNumber },
  {
    path: ['link', 'tls'],
    text: 'TLS (yes or no)',
    default: 'yes',
    pattern: yesOrNo,
    parse: parseYes,
  },
  { path: ['link', 'institutionId'], text: 'Institution number of the acquirer (DE 32)' },
  { path: ['link', 'dialect'], text: 'Host table', default: 'iso1987-binary' },
  { path: ['merchant', 'name'], text: 'Name of the merchant' },
  { path: ['merchant', 'country'], text: 'Country of the merchant, such as FR' },
  { path: ['merchant', 'mcc'], text: 'Merchant category code, such as 5814' },
  { path: ['merchant', 'timeZone'], text: 'Time zone, such as Europe/Paris' },
  {
    path: ['contract', 'acquirerMerchantId'],
    text: 'Number of the merchant at the acquirer (DE 42)',
  },
  {
    path: ['contract', 'terminalIdRange', 'from'],
    text: 'First terminal number of the contract (DE 41), such as CAFE0001',
  },
  {
    path: ['contract', 'terminalIdRange', 'to'],
    text: 'Last terminal number, such as CAFE0099',
  },
  { path: ['contract', 'currencies'], text: 'Currencies', default: 'EUR', parse: parseList },
  {
    path: ['contract', 'captureModes'],
    text: 'Capture modes (Immediate, Deferred)',
    default: 'Immediate, Deferred',
    parse: parseList,
  },
  {
    path: ['contract', 'clearCardData'],
    text: 'May card data arrive that only TLS protects (yes or no)',
    default: 'no',
    pattern: yesOrNo,
    parse: (answer) => (parseYes(answer) ? 'Allowed' : 'Refused'),
  },
  {
    path: ['store', 'name'],
    text: 'Name of the store',
    default: (answers) => answers['merchant.name'] ?? '',
  },
  { path: ['device', 'name'], text: 'Name of the terminal', default: 'Counter 1' },
  { path: ['device', 'make'], text: 'Make of the terminal, such as AXIUM' },
  { path: ['device', 'model'], text: 'Model of the terminal, such as DX8000' },
  { path: ['device', 'family'], text: 'Family of the terminal, such as axium' },
  { path: ['device', 'serialNumber'], text: 'Serial number of the terminal' },
  { path: ['application', 'name'], text: 'Name of the application', default: 'Server' },
];

function setMember(document: Record<string, unknown>, path: readonly string[], value: Value): void {
  const [name = '', ...rest] = path;
  if (rest.length === 0) {
    document[name] = value;
    return;
  }
  document[name] ??= {};
  setMember(document[name] as Record<string, unknown>, rest, value);
}

/**
 * Reads one line for each question. A question is repeated until it has an answer that can be used.
 *
 * @returns the file; undefined if the input ended before the last answer
 */
export async function askQuestions({
  stdin,
  stderr,
}: RuntimeEnvironment): Promise<Record<string, unknown> | undefined> {
  const reader = createInterface({ input: stdin, crlfDelay: Number.POSITIVE_INFINITY });
  const lines = reader[Symbol.asyncIterator]();
  const answers: Record<string, string> = {};
  const document: Record<string, unknown> = {};
  try {
    for (const {
      path,
      text,
      isOptional,
      skip,
      parse = String,
      pattern,
      ...question
    } of questions) {
      if (skip?.(answers)) continue;
      const fallback =
        typeof question.default === 'function' ? question.default(answers) : question.default;
      let answer = '';
      do {
        stderr.write(`${text}${fallback ? ` [${fallback}]` : ''}: `);
        const line = await lines.next();
        if (line.done) return undefined;
        // A terminal shows the line with its end.
        if (stdin.isTTY !== true) stderr.write('\n');
        answer = line.value.trim() || (fallback ?? '');
      } while (answer === '' ? !isOptional : pattern?.test(answer) === false);
      if (answer === '') continue;
      answers[path.join('.')] = answer;
      setMember(document, path, parse(answer));
    }
  } finally {
    reader.close();
  }
  return document;
}
