// The application that the devices of a merchant act as, and which applications a device may use.
import type { Application } from './application.ts';

/** The location of a device that has authenticated by its certificate. */
type LocatedDevice = {
  readonly location: { readonly merchantId: string; readonly storeId: string };
};

type DeviceAccessFacts = Pick<
  Application,
  'clientId' | 'entityType' | 'entityId' | 'storeId' | 'status'
>;

/** One for all devices of a merchant, whichever of them asks first. */
export const deviceClientId = (merchantId: string): string => `device-${merchantId}`;

/** Such a name is given by the platform alone: a merchant's devices trust whatever bears it. */
export const isDeviceClientId = (clientId: string): boolean =>
  /^device-[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}$/i.test(clientId);

/** It has no secret of its own: the certificate is what it proves itself with. */
const isDeviceOnly = ({ clientId, entityId }: DeviceAccessFacts): boolean =>
  clientId === deviceClientId(entityId);

/**
 * Whether tokens are given for an application: to a device only for its own place. For itself it
 * needs a secret that is bound to its certificate as well, which no other application has.
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
