// Compares the response of a step with the expectation of the plan.
import type { AcquirerOutcome } from '../../../packages/server/src/acquiring/index.ts';
import type { Expectation, Step } from './certification-plan.ts';
import { maskFieldValue, type Secrets } from './mask-parts.ts';
import type { LoggedMessage } from './message-log.ts';

export type Difference = {
  /** Such as `outcome` or `field 39`. */
  readonly where: string;
  readonly expected: string;
  readonly received: string;
};

type FieldExpectation = NonNullable<Expectation['fields']>[string];

const absent = '(absent)';

function isExpected(expected: FieldExpectation, value: string | undefined): boolean {
  if (typeof expected === 'string') return value === expected;
  if ('present' in expected) return expected.present === (value !== undefined);
  return value !== undefined && new RegExp(`^(?:${expected.pattern})$`).test(value);
}

function describe(field: number, expected: FieldExpectation, secrets: Secrets): string {
  if (typeof expected === 'string') return maskFieldValue(field, expected, secrets);
  if ('present' in expected) return expected.present ? 'any value' : absent;
  return `a value like ${expected.pattern}`;
}

/** Whether a message has the fields; for the step Await. */
export const hasFields = (
  having: Expectation['fields'],
  fields: Readonly<Record<number, string | undefined>>,
): boolean =>
  Object.entries(having ?? {}).every(([field, expected]) =>
    isExpected(expected, fields[Number(field)]),
  );

function compareFields(
  label: string,
  expected: Expectation['fields'],
  fields: Readonly<Record<number, string | undefined>>,
  secrets: Secrets,
): Difference[] {
  return Object.entries(expected ?? {}).flatMap(([key, each]) => {
    const field = Number(key);
    const { [field]: value } = fields;
    if (isExpected(each, value)) return [];
    return [
      {
        where: `${label} ${field}`,
        expected: describe(field, each, secrets),
        received: value === undefined ? absent : maskFieldValue(field, value, secrets),
      },
    ];
  });
}

type Result = {
  /** The message that answered the step; undefined if none arrived. */
  readonly response: LoggedMessage | undefined;
  readonly outcome: AcquirerOutcome | undefined;
  readonly secrets: Secrets;
};

/** Card data in the result is masked. */
export function findDifferences(
  expect: Expectation,
  { response, outcome, secrets }: Result,
): Difference[] {
  const { fields, hostFields, responseCode, ...facts } = expect;
  const outcomeFacts: Readonly<Record<string, unknown>> = { ...outcome };
  const canonical = response?.frame.canonical?.fields ?? {};
  const differences = Object.entries(facts)
    .filter(([member, expected]) => outcomeFacts[member] !== expected)
    .map(([member, expected]) => ({
      where: member,
      expected: String(expected),
      received: String(outcomeFacts[member] ?? absent),
    }));
  const code = responseCode === undefined ? undefined : { 39: responseCode };
  return [
    ...compareFields('field', code, canonical, secrets),
    ...compareFields('field', fields, canonical, secrets),
    ...compareFields('host field', hostFields, response?.hostFields ?? {}, secrets),
    ...differences,
  ];
}

/** The expectation in one line: `outcome Approved; field 38 a value like [0-9]{6}`. */
export function describeExpectation(step: Step, secrets: Secrets): string {
  const { fields, hostFields, ...facts } = step.expect ?? {};
  const listFields = (label: string, expected: Expectation['fields'] = {}) =>
    Object.entries(expected).map(
      ([field, each]) => `${label} ${field} ${describe(Number(field), each, secrets)}`,
    );
  const message = step.do === 'Await' ? [`${step.mti} from the ${step.from?.toLowerCase()}`] : [];
  return [
    ...message,
    ...listFields('field', step.having),
    ...Object.entries(facts).map(([member, value]) => `${member} ${value}`),
    ...listFields('field', fields),
    ...listFields('host field', hostFields),
  ].join('; ');
}
