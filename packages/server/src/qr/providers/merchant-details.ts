// Reads the merchant, acquirer and store of a terminal for the request to the provider.
import { defined } from '@switchyard/contract';
import type { Provisioning } from '../../provisioning/index.ts';
import type { MerchantDetails } from './provider-types.ts';

const nameMaxChars = 200;

export type MerchantDetailsDeps = Pick<Provisioning, 'resolveWithoutAcquirer'>;

/** @example const merchant = await readMerchantDetails(provisioning, organizationId, { deviceId, currency: 'EUR' }); */
export async function readMerchantDetails(
  provisioning: MerchantDetailsDeps,
  organizationId: string,
  terminal: { readonly deviceId: string; readonly currency: string; readonly merchantId?: string },
): Promise<MerchantDetails> {
  const { deviceId, currency, merchantId } = terminal;
  const scope = defined({ merchantId });
  const resolved = await provisioning.resolveWithoutAcquirer(organizationId, { deviceId }, scope);
  const { merchant, store, contracts, organizationName } = resolved;
  if (store === undefined) throw new Error('the device has no store');
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
