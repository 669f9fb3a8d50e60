/** Points of sale: the tills of a store, each with its own credentials. */
import { type Static, Type } from 'typebox';
import { RenewedSecret } from '../accounts/applications.ts';
import {
  closed,
  commonAnswer,
  commonFilters,
  commonInput,
  identifier,
  replacement,
} from '../values-and-problems/resource-schemas.ts';

const organizationId = identifier('The organisation.');
const merchantId = identifier('The merchant of the store.');
const storeId = identifier('The store in which it sells; it stays there.');
const pointOfSaleId = identifier('The point of sale.');
const { clientId, clientSecret } = RenewedSecret.properties;

/**
 * The body that creates a point of sale. The response contains its credentials.
 *
 * @example
 * const body: PointOfSaleInput = { storeId, name: 'Till 3' };
 */
export const PointOfSaleInput = closed(
  { storeId, ...commonInput },
  'A point of sale as it is created.',
);
export type PointOfSaleInput = Static<typeof PointOfSaleInput>;

/**
 * The body that replaces a point of sale. A disabled one has no valid tokens and gets no new ones.
 *
 * @example
 * const body = { ...pointOfSale, status: 'Disabled' };
 */
export const PointOfSaleReplacement = replacement(
  commonInput,
  { pointOfSaleId, merchantId, storeId, clientId },
  'A point of sale as it is replaced.',
);

const pointOfSale = {
  pointOfSaleId,
  organizationId,
  merchantId,
  storeId,
  clientId,
  ...commonInput,
  ...commonAnswer,
};

/**
 * A point of sale, as the API returns it, without its secret.
 *
 * @example
 * const pointOfSale = (await response.json()) as PointOfSale;
 */
export const PointOfSale = closed(
  pointOfSale,
  'A point of sale: a till of a store, which gets tokens as a client of its own.',
);
export type PointOfSale = Static<typeof PointOfSale>;

/**
 * A new point of sale with its secret, which is shown only once.
 *
 * @example
 * const { clientId, clientSecret } = (await response.json()) as NewPointOfSale;
 */
export const NewPointOfSale = closed(
  { ...pointOfSale, clientSecret },
  'A point of sale that was made a moment ago.',
);
export type NewPointOfSale = Static<typeof NewPointOfSale>;

/**
 * The filters of the list of points of sale, in addition to `limit` and `cursor`.
 *
 * @example
 * Type.Object({ limit, cursor, ...pointOfSaleFilters });
 */
export const pointOfSaleFilters = {
  ...commonFilters,
  merchantId: Type.Optional(merchantId),
  storeId: Type.Optional(storeId),
};
