// Amounts of ISO 8583:2003: currency and number of decimals in front of DE4, and number of decimals in each part of DE54.
import { alphaOf, exponentOf } from '@switchyard/money';
import type { Fields } from '../message.ts';
import type { HostTable } from './host-table.ts';

const amountField = 4;
const currencyField = 49;
const partsField = 54;
const currencyDigits = 3;
const prefixDigits = 4;
/** A part of DE54: account type, amount type, currency; sign and amount. */
const partPattern = /([0-9]{4})([0-9]{3})([CD][0-9]{12})/g;
const hostPartPattern = /([0-9]{7})[0-9]([CD][0-9]{12})/g;

/** The number of decimals of a currency by its numeric code, as one digit. */
export function decimalsOf(currency: string): string {
  const alpha = alphaOf(currency);
  return alpha === undefined ? '0' : String(exponentOf(alpha));
}

export function convertAmount({ amountFormat }: Pick<HostTable, 'amountFormat'>) {
  if (amountFormat === undefined) return { toHost() {}, fromHost() {} };
  return {
    toHost(fields: Fields) {
      const { [amountField]: amount, [currencyField]: currency } = fields;
      delete fields[currencyField];
      if (amount !== undefined && currency !== undefined)
        fields[amountField] = currency + decimalsOf(currency) + amount;
      fields[partsField] = fields[partsField]?.replaceAll(
        partPattern,
        (_part, types: string, currencyOfPart: string, rest: string) =>
          types + currencyOfPart + decimalsOf(currencyOfPart) + rest,
      );
    },
    fromHost(fields: Fields) {
      fields[partsField] = fields[partsField]?.replaceAll(hostPartPattern, '$1$2');
      const { [amountField]: amount } = fields;
      if (amount === undefined) return;
      fields[currencyField] = amount.slice(0, currencyDigits);
      fields[amountField] = amount.slice(prefixDigits);
    },
  };
}
