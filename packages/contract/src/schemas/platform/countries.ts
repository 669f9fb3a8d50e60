/** Countries of ISO 3166-1. */
import { type Static, Type } from 'typebox';

/**
 * A country: its alpha-2 code and its name.
 *
 * Source: ISO 3166-1.
 *
 * @example
 * const country: Country = { code: 'FR', display: 'France' };
 */
export const Country = Type.Object({
  code: Type.String({
    pattern: '^[A-Z]{2}$',
    description: 'The alpha-2 code of ISO 3166-1.',
    examples: ['FR'],
  }),
  display: Type.String({ description: 'The name of the country.', examples: ['France'] }),
});
/** The type of {@link Country}. */
export type Country = Static<typeof Country>;

/**
 * All countries, as a JSON array sorted by code.
 *
 * @example
 * const countries = (await response.json()) as Countries;
 */
export const CountryList = Type.Array(Country, {
  description: 'Every country of ISO 3166-1, sorted by code.',
});
/** The type of {@link CountryList}. */
export type CountryList = Static<typeof CountryList>;
