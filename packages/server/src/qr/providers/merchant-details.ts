// Reads the merchant, acquirer and store of a terminal for the request to the provider.
import { defined } from '@switchyard/contract';
import type { Provisioning } from '../../provisioning/index.ts';
import type { Place } from './provider-types.ts';

const nameMaxChars = 200;

export type PlaceDeps = Pick<Provisioning, 'resolveWithoutAcquirer'>;

/** @example const place = await placeFrom(provisioning, organizationId, { deviceId, currency: 'EUR' }); */
export async function placeFrom(
  provisioning: PlaceDeps,
  organizationId: string,
  asked: { readonly deviceId: string; readonly currency: string; readonly merchantId?: string },
): Promise<Place> {
  const { deviceId, currency, merchantId } = asked;
  const within = defined({ merchantId });
  const found = await provisioning.resolveWithoutAcquirer(organizationId, { deviceId }, within);
  const { merchant, store, contracts, organizationName } = found;
  if (store === undefined) throw new Error('a device stands in a store');
  const contract = contracts.find(({ currencies }) => currencies.includes(currency));
  const city = store.address?.city;
  return {
    merchantId: merchant.merchantId,
    name: merchant.name.slice(0, nameMaxChars),
    ...defined({ externalId: merchant.externalId }),
    acquirerId: organizationId,
    acquirerName: organizationName.slice(0, nameMaxChars),
    ...defined({ acquirerMerchantId: contract?.acquirerMerchantId }),
    storeId: store.storeId,
    storeName: store.name.slice(0, nameMaxChars),
    terminalId: deviceId.toLowerCase(),
    mcc: merchant.mcc,
    country: merchant.country,
    ...defined({ city }),
    timeZone: store.timeZone,
  };
}
