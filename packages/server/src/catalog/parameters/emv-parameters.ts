// Checks the values of EMV terminal parameters, and adds the merchant category code.

import { type FieldError, isObject } from '@switchyard/contract';
import { terminalParameterDomain, terminalParameterFaults } from '@switchyard/emv';
import { isActiveCurrency } from '@switchyard/money';
import type { ParameterValues } from './types.ts';

function findCurrencyFaults({ currency }: ParameterValues): FieldError[] {
  if (typeof currency !== 'string' || isActiveCurrency(currency)) return [];
  return [{ pointer: '/currency', code: 'currency_unknown', detail: 'is not an active currency' }];
}

/**
 * Rules beyond the schema, by the domain of the service. Production refuses test keys.
 *
 * @example const valueRules = emvValueRules({ allowsTestKeys: settings.environment !== 'production' });
 */
export function emvValueRules(options: { readonly allowsTestKeys: boolean }): {
  readonly [domain: string]: (values: ParameterValues) => readonly FieldError[];
} {
  return {
    [terminalParameterDomain]: (values) => [
      ...terminalParameterFaults(values, options).map(({ pointer, detail }) => ({
        pointer,
        code: 'field_invalid',
        detail,
      })),
      ...findCurrencyFaults(values),
    ],
  };
}

/** A terminal gets the category code of its merchant when no level sets another code. */
export function setDefaultTerminalMcc(values: ParameterValues, mcc: string): ParameterValues {
  const { terminal } = values;
  if (!isObject(terminal) || terminal['merchantCategoryCode'] !== undefined) return values;
  return { ...values, terminal: { ...terminal, merchantCategoryCode: mcc } };
}
