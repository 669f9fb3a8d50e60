// Creates the users of the demo once, with passwords that only demo.json contains.
import { ProblemError } from '@switchyard/contract';
import { Secret, TOTP } from 'otpauth';
import type { Identity } from '../identity/index.ts';
import type { Clock, Ids } from '../platform/index.ts';
import { demoMerchants } from './demo-data.ts';
import {
  type DemoUserAccount,
  demoUsers,
  entityIdOf,
  groupIdOf,
  providerUsers,
  userDomainOf,
} from './demo-users.ts';

/** The secrets with which a user signs in. */
export type UserSecrets = {
  readonly password: string;
  /** In base32; without it the password is sufficient. */
  readonly otpSecret?: string | undefined;
};

/** The keys are user names. */
export type UserSecretsByName = ReadonlyMap<string, UserSecrets>;

type Deps = {
  readonly identity: Pick<Identity, 'accounts'>;
  readonly ids: Ids;
  readonly clock: Clock;
};

const otpSecretBytes = 20;
/** Easy to type from a screen, so without i, l, o and 1; 20 of its 32 letters give 100 bits. */
const passwordAlphabet = 'abcdefghjkmnpqrstuvwxyz023456789';
const passwordGroups = 4;
const passwordGroupLength = 5;
/** A placeholder, because the seed has no client address. */
const requestOrigin = { address: '127.0.0.1' };

function newPassword(ids: Ids): string {
  const bytes = Buffer.from(ids.secret(), 'base64url');
  const groups = Array.from({ length: passwordGroups }, (_, group) => {
    const from = group * passwordGroupLength;
    return [...bytes.subarray(from, from + passwordGroupLength)]
      .map((byte) => passwordAlphabet[byte % passwordAlphabet.length])
      .join('');
  });
  return groups.join('-');
}

function newOtpSecret(ids: Ids): string {
  const bytes = Buffer.from(ids.secret(otpSecretBytes), 'base64url');
  return new Secret({ buffer: new Uint8Array(bytes).buffer }).base32;
}

export const oneTimePasswordAt = (otpSecret: string, timestamp: number): string =>
  new TOTP({ secret: Secret.fromBase32(otpSecret) }).generate({ timestamp });

function addressOf({ merchantId }: DemoUserAccount) {
  const merchant = demoMerchants.find((one) => one.merchantId === merchantId);
  if (merchant === undefined) return undefined;
  const { line1, city, postalCode } = merchant.address;
  return {
    street_address: line1,
    locality: city,
    postal_code: postalCode,
    country: merchant.country,
  };
}

function createUserInput(account: DemoUserAccount, secrets: UserSecrets) {
  const { username, givenName, familyName, merchantId } = account;
  const { locale, zoneinfo, phoneNumber, hasOneTimePassword } = account;
  const { organizationId, userDomainId } = userDomainOf(account);
  return {
    organizationId,
    userDomainId,
    username,
    entityType: merchantId === undefined ? ('tenant' as const) : ('merchant' as const),
    entityId: entityIdOf(account),
    email: `${username}@${userDomainId}.example`,
    emailVerified: true,
    givenName,
    familyName,
    phoneNumber,
    address: addressOf(account),
    locale,
    zoneinfo,
    datetimeFormat: locale === 'fr-FR' ? 'dd/MM/yyyy HH:mm' : 'd MMM yyyy HH:mm',
    groups: [groupIdOf(account)],
    secondFactor: hasOneTimePassword ? ('On' as const) : ('Off' as const),
    password: secrets.password,
    passwordIsRandom: true,
    otpSecret: secrets.otpSecret,
  };
}

/** Creates the missing users; known secrets do not change. */
export async function seedUsers(
  deps: Deps,
  earlierSecrets: UserSecretsByName,
): Promise<UserSecretsByName> {
  const users = new Map<string, UserSecrets>();
  for (const account of [...demoUsers, ...providerUsers]) {
    users.set(
      account.username,
      await seedUser(deps, account, earlierSecrets.get(account.username)),
    );
  }
  return users;
}

async function seedUser(
  deps: Deps,
  account: DemoUserAccount,
  earlierSecrets: UserSecrets | undefined,
): Promise<UserSecrets> {
  const { identity, ids } = deps;
  // This check comes first, because a refused creation costs a hash and the word list checks.
  const isComplete = earlierSecrets !== undefined && (await exists(deps, account));
  if (isComplete) return earlierSecrets;
  const secrets = earlierSecrets ?? {
    password: newPassword(ids),
    ...(account.hasOneTimePassword ? { otpSecret: newOtpSecret(ids) } : {}),
  };
  try {
    await identity.accounts.create(createUserInput(account, secrets));
    return secrets;
  } catch (error) {
    if (!(error instanceof ProblemError) || error.code !== 'already_exists') throw error;
  }
  // The database stores only a hash, so a lost demo.json requires a new password.
  return earlierSecrets ?? renewSecrets(deps, account, secrets.password);
}

async function exists({ identity }: Deps, account: DemoUserAccount): Promise<boolean> {
  const { organizationId } = userDomainOf(account);
  return (await identity.accounts.findByName(organizationId, account.username)) !== undefined;
}

async function renewSecrets(
  { identity: { accounts }, clock }: Deps,
  account: DemoUserAccount,
  password: string,
): Promise<UserSecrets> {
  const { organizationId } = userDomainOf(account);
  const user = await accounts.findByName(organizationId, account.username);
  if (user === undefined) throw new Error(`${account.username} exists and cannot be found`);
  await accounts.setPassword(organizationId, user.userId, password);
  if (!account.hasOneTimePassword) return { password };
  const { secret: otpSecret } = await accounts.beginOtpEnrolment(user);
  await accounts.confirmOtpEnrolment(
    user,
    oneTimePasswordAt(otpSecret, clock.now()),
    requestOrigin,
  );
  return { password, otpSecret };
}
