// User accounts of one organisation over the real database, for the tests of the identity module.
import { randomBytes, randomUUID } from 'node:crypto';
import { Secret, TOTP } from 'otpauth';
import {
  type Accounts,
  type AccountsDependencies,
  createAccounts,
  type NewUser,
  type NotSignedIn,
  type SignedIn,
  type SignInAttempt,
  type User,
} from '../../../src/identity/accounts/index.ts';
import { createChangeCounter } from '../../../src/identity/infrastructure/change-counter.ts';
import { createLog, type Database, systemIdGenerator } from '../../../src/platform/index.ts';
import { createMailRecorder, type MailRecorder } from '../mail/mail-recorder.ts';
import { type MovableClock, movableClock } from '../movable-clock.ts';
import { testPasswordHasher } from './test-password-hasher.ts';

export const testPassword = 'seven tills under one roof';

export const testOrigin = {
  address: '192.0.2.7',
  userAgent: 'a browser',
  requestId: 'request-1',
  clientId: 'web',
};

/** A base32 secret, and the code that an authenticator application shows for it. */
export const newOtpSecret = (): string => new Secret({ size: 20 }).base32;
export const otpCode = (secret: string, at: number): string =>
  TOTP.generate({ secret: Secret.fromBase32(secret), timestamp: at });

/** Accepts every password, because the word lists take seconds to load. */
export const anyPasswordStrength = { isCommon: async () => false, close: async () => {} };

export type TestAccounts = {
  readonly accounts: Accounts;
  readonly clock: MovableClock;
  readonly organizationId: string;
  readonly userDomainId: string;
  /** The users whose sessions were ended, in order. */
  readonly endedUserIds: string[];
  readonly mailRecorder: MailRecorder;
  createUser(facts?: Partial<NewUser>): Promise<User>;
  /** Signs in on a page with the right password, unless `facts` says otherwise. */
  signIn(user: User, facts?: Partial<SignInAttempt>): Promise<SignedIn | NotSignedIn>;
};

export async function openTestAccounts(
  database: Database,
  deps: Partial<AccountsDependencies> = {},
): Promise<TestAccounts> {
  const clock = movableClock();
  const organizationId = randomUUID();
  const userDomainId = `realm-${organizationId}`;
  const endedUserIds: string[] = [];
  const mailRecorder = createMailRecorder();
  await database.query(
    `INSERT INTO user_domains (user_domain_id, organization_id, status, created_at)
     VALUES ($1, $2, 'Enabled', now())`,
    [userDomainId, organizationId],
  );
  const accounts = createAccounts({
    database,
    clock,
    ids: systemIdGenerator,
    log: createLog({ logLevel: 'silent', instanceName: 'test' }),
    masterKey: randomBytes(32),
    environment: 'test',
    authUrl: 'https://localhost:8443',
    passwordStrength: anyPasswordStrength,
    passwordHasher: testPasswordHasher,
    jobs: mailRecorder.jobs,
    mail: mailRecorder.mail,
    revision: createChangeCounter(),
    endSessions: async (_organizationId, userId) => void endedUserIds.push(userId),
    ...deps,
  });
  return {
    accounts,
    clock,
    organizationId,
    userDomainId,
    endedUserIds,
    mailRecorder,
    signIn: ({ username }, facts) =>
      accounts.authenticate({
        organizationId,
        username,
        password: testPassword,
        origin: testOrigin,
        kind: 'page',
        ...facts,
      }),
    createUser: (facts) =>
      accounts.create({
        organizationId,
        userDomainId,
        username: `user-${randomUUID()}`,
        entityType: 'tenant',
        entityId: organizationId,
        email: 'ann@shop.example',
        groups: [`${organizationId}_org_admin`],
        secondFactor: 'Off',
        password: testPassword,
        ...facts,
      }),
  };
}
