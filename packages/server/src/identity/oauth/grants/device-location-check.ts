// Whether somebody may be signed in at the device that a request comes from, where it stands now.
import { errors } from 'oidc-provider';
import type { User } from '../../accounts/types.ts';
import type { Application } from '../../clients/application.ts';
import type { AuthenticatedDevice } from '../../devices/authenticated-device.ts';
import type { Realm } from '../../realms-and-keys/realm.ts';
import type { SignInDevice } from '../../tokens/authentication-claims.ts';

const invalidGrant = (detail: string) => new errors.InvalidGrant(detail);

/** A device is its merchant's, and so is who signs in at it: never somebody of the organisation. */
export function requireDeviceLocation(
  device: AuthenticatedDevice,
  realm: Realm,
  { user, application }: { readonly user: User; readonly application: Application },
): void {
  const { merchantId, storeId } = device.location;
  if (device.organizationId !== realm.organizationId)
    throw invalidGrant('a device of another realm');
  if (user.entityType !== 'merchant') throw invalidGrant('a user of the organisation at a device');
  if (user.entityId !== merchantId) throw invalidGrant('a device of another merchant');
  if (application.entityType === 'merchant' && application.entityId !== merchantId) {
    throw invalidGrant('an application of another merchant');
  }
  if ((application.storeId ?? storeId) !== storeId) {
    throw invalidGrant('an application of another store');
  }
}

/** What a sign-in keeps of its device. */
export const signInDeviceOf = ({ tsn, location }: AuthenticatedDevice): SignInDevice => ({
  type: 'ConfidentialDevice',
  id: tsn,
  methods: ['device_flow'],
  deviceId: location.logicalDeviceId,
  storeId: location.storeId,
});
