// Hashes passwords with a fortieth of the work, because tests hash more than a thousand.
import { createPasswordHasher } from '../../../src/identity/accounts/passwords/password-hashing.ts';
import { systemIdGenerator } from '../../../src/platform/index.ts';

const maxWaiting = 128;

export const testPasswordHasher = createPasswordHasher(systemIdGenerator.secret(), maxWaiting, {
  memoryCost: 512,
  timeCost: 1,
  parallelism: 1,
});
