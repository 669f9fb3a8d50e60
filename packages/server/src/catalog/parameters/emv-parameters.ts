// Checks the values of EMV terminal parameters, and adds the merchant category code.
import type { FieldError } from '@switchyard/contract';
import { terminalParameterDomain, terminalParameterFaults } from '@switchyard/emv';
import { isActiveCurrency } from '@switchyard/money';

type Values = Readonly<Record<string, unknown>>;

const isValues = (value: unknown): value is Values =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

function currencyFaults({ currency }: Values): FieldError[] {
  if (typeof currency !== 'string' || isActiveCurrency(currency)) return [];
  return [{ pointer: '/currency', code: 'currency_unknown', detail: 'is no active currency' }];
}

/**
 * Rules beyond the schema, by the domain of the service. Production refuses test keys.
 *
 * @example const valueRules = emvValueRules({ allowsTestKeys: settings.environment !== 'production' });
 */
export function emvValueRules(options: { readonly allowsTestKeys: boolean }): {
  readonly [domain: string]: (values: Values) => readonly FieldError[];
} {
  return {
    [terminalParameterDomain]: (values) => [
      ...terminalParameterFaults(values, options).map(({ pointer, detail }) => ({
        pointer,
        code: 'field_invalid',
        detail,
      })),
      ...currencyFaults(values),
    ],
  };
}

/** A terminal gets the category code of its merchant when no level sets another code. */
export function withMerchantCategory(values: Values, mcc: string): Values {
  const { terminal } = values;
  if (!isValues(terminal) || terminal['merchantCategoryCode'] !== undefined) return values;
  return { ...values, terminal: { ...terminal, merchantCategoryCode: mcc } };
}
