/** EMV terminal parameters: their schema, and values to begin with: the applications of the schemes, without any CA key. */
import parameters from './default-parameters.json' with { type: 'json' };
import schema from './terminal-parameters.schema.json' with { type: 'json' };
import { testCaKeys } from './test-ca-keys.ts';

type Values = Readonly<Record<string, unknown>>;

/**
 * The domain that a service of terminal parameters is declared with.
 *
 * @example
 * const declaration = { name: 'EMV terminal parameters', domain: terminalParameterDomain };
 */
export const terminalParameterDomain = 'emvTerminalParameters';

/**
 * The schema of the configuration; further rules are {@link terminalParameterFaults}.
 *
 * @example
 * const declaration = { name: 'EMV', domain: 'emvTerminalParameters', parameterSchema: terminalParameterSchema };
 */
export const terminalParameterSchema: Values = schema;

/**
 * Where an estate begins. The country is left out: each acquirer sets it. The codes and limits are
 * of the kind that acquirers hand out for tests; those of production are the acquirer's to give.
 *
 * @example
 * Object.keys(terminalParameterDefaults.applications).includes('A0000000031010'); // true
 */
export const terminalParameterDefaults: {
  readonly currency: string;
  readonly terminal: Values;
  readonly applications: Readonly<Record<string, Values>>;
  readonly coBrandRules: readonly Values[];
} = parameters.defaults;

/** The sets name no day on which all of them end: it is one of the demo. */
const testExpiry = '2035-12-31';
const bitsOfDigit = 4;

/**
 * The keys of the test sets as values of terminal parameters, by RID and index.
 *
 * @example
 * const values = { caKeys: testCaKeyValues() };
 */
export function testCaKeyValues(): Readonly<Record<string, Values>> {
  return Object.fromEntries(
    testCaKeys.map(({ rid, index, modulus, ...key }) => [
      `${rid}-${index}`,
      {
        ...key,
        isEnabled: true,
        keyLengthBits: modulus.length * bitsOfDigit,
        modulus,
        expiresOn: testExpiry,
      },
    ]),
  );
}
