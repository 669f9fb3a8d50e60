// The columns of a user, and the user that a row is.
import type { EntityType, Status } from '../realms-and-keys/realm.ts';
import { permissionsOfGroups } from './rules.ts';
import type { Address, SecondFactor, User } from './types.ts';

export const userColumns = `u.organization_id, u.user_id, u.username, u.entity_type, u.entity_id,
  u.scope_entity_type, u.scope_entity_id, u.email, u.email_verified, u.pending_email, u.given_name, u.family_name,
  u.phone_number, u.phone_number_verified, u.address, u.locale, u.zoneinfo, u.datetime_format,
  u.groups, u.status, u.second_factor, u.password_hash IS NOT NULL AS has_password,
  u.tokens_not_before, u.last_sign_in_at, u.version, u.created_at, u.updated_at`;

export type UserRow = {
  organization_id: string;
  user_id: string;
  username: string;
  entity_type: EntityType;
  entity_id: string;
  scope_entity_type: EntityType;
  scope_entity_id: string;
  email: string;
  email_verified: boolean;
  pending_email: string | null;
  given_name: string | null;
  family_name: string | null;
  phone_number: string | null;
  phone_number_verified: boolean;
  address: Address | null;
  locale: string | null;
  zoneinfo: string | null;
  datetime_format: string | null;
  groups: string[];
  status: Status;
  second_factor: SecondFactor;
  has_password: boolean;
  tokens_not_before: Date | null;
  last_sign_in_at: Date | null;
  version: number;
  created_at: Date;
  updated_at: Date;
};

export function userOf(row: UserRow): User {
  return {
    organizationId: row.organization_id,
    userId: row.user_id,
    username: row.username,
    entityType: row.entity_type,
    entityId: row.entity_id,
    scopeEntityType: row.scope_entity_type,
    scopeEntityId: row.scope_entity_id,
    email: row.email,
    emailVerified: row.email_verified,
    pendingEmail: row.pending_email ?? undefined,
    givenName: row.given_name ?? undefined,
    familyName: row.family_name ?? undefined,
    phoneNumber: row.phone_number ?? undefined,
    phoneNumberVerified: row.phone_number_verified,
    address: row.address ?? undefined,
    locale: row.locale ?? undefined,
    zoneinfo: row.zoneinfo ?? undefined,
    datetimeFormat: row.datetime_format ?? undefined,
    groups: row.groups,
    permissions: permissionsOfGroups(row.groups, row.entity_type, row.entity_id),
    status: row.status,
    secondFactor: row.second_factor,
    hasPassword: row.has_password,
    tokensNotBefore: row.tokens_not_before?.getTime(),
    lastSignInAt: row.last_sign_in_at?.getTime(),
    version: row.version,
    createdAt: row.created_at.getTime(),
    updatedAt: row.updated_at.getTime(),
  };
}
