// Whether somebody may be signed in at the device that a request comes from, where it stands now.
import { errors } from 'oidc-provider';
import type { User } from '../../accounts/types.ts';
import type { Application } from '../../clients/application.ts';
import type { PresentedDevice } from '../../devices/authenticated-device.ts';
import type { Realm } from '../../realms-and-keys/realm.ts';
import type { DeviceFacts } from '../../tokens/authentication-claims.ts';

const refused = (detail: string) => new errors.InvalidGrant(detail);

/** A device is its merchant's, and so is who signs in at it: never somebody of the organisation. */
export function checkPlace(
  device: PresentedDevice,
  realm: Realm,
  { user, application }: { readonly user: User; readonly application: Application },
): void {
  const { merchantId, storeId } = device.place;
  if (device.organizationId !== realm.organizationId) throw refused('a device of another realm');
  if (user.entityType !== 'merchant') throw refused('a user of the organisation at a device');
  if (user.entityId !== merchantId) throw refused('a device of another merchant');
  if (application.entityType === 'merchant' && application.entityId !== merchantId) {
    throw refused('an application of another merchant');
  }
  if ((application.storeId ?? storeId) !== storeId) {
    throw refused('an application of another store');
  }
}

/** What a sign-in keeps of its device. */
export const factsOf = ({ tsn, place }: PresentedDevice): DeviceFacts => ({
  type: 'ConfidentialDevice',
  id: tsn,
  methods: ['device_flow'],
  deviceId: place.logicalDeviceId,
  storeId: place.storeId,
});
