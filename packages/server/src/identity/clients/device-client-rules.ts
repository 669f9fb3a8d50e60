// The OAuth client of the devices of a merchant, and the check which clients a device may use.
import type { Application } from './application-record.ts';

/** The location of a device that has authenticated by its certificate. */
type LocatedDevice = {
  readonly location: { readonly merchantId: string; readonly storeId: string };
};

type DeviceAccessFacts = Pick<
  Application,
  'clientId' | 'entityType' | 'entityId' | 'storeId' | 'status'
>;

/** All devices of a merchant share one client. */
export const deviceClientId = (merchantId: string): string => `device-${merchantId}`;

/** Only the platform assigns such client ids, because the devices of the merchant trust them. */
export const isDeviceClientId = (clientId: string): boolean =>
  /^device-[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}$/i.test(clientId);

/** This client has no secret: a device authenticates with its certificate. */
const isDeviceOnly = ({ clientId, entityId }: DeviceAccessFacts): boolean =>
  clientId === deviceClientId(entityId);

/**
 * Whether the server issues tokens for this application. A device gets tokens only for its own
 * merchant and store; without a certificate, device clients get none.
 */
export function mayUseApplication(
  application: DeviceAccessFacts,
  device: LocatedDevice | undefined,
): boolean {
  if (application.status !== 'Enabled') return false;
  if (device === undefined) return !isDeviceOnly(application);
  const { entityType, entityId, storeId } = application;
  const { location } = device;
  return (
    (entityType === 'tenant' || entityId === location.merchantId) &&
    (storeId === undefined || storeId === location.storeId)
  );
}
