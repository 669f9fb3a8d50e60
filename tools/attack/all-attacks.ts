// Every attack, in the order in which they run.
import type { Attack } from './attack.ts';
import { developerRights } from './items/developer-rights.ts';
import { foreignIdentifiers } from './items/foreign-identifiers.ts';
import { demoCertificate, hardening } from './items/hardening.ts';
import { plainConnections } from './items/plain-connections.ts';
import { privateAddresses, privateAddressesOfDemo } from './items/private-addresses.ts';
import { requestBodies } from './items/request-bodies.ts';
import { serialNumbers } from './items/serial-numbers.ts';
import { signUpMails } from './items/sign-up-mails.ts';
import { storedTexts } from './items/stored-texts.ts';
import { trustedProxies } from './items/trusted-proxies.ts';

export const allAttacks: readonly Attack[] = [
  privateAddresses,
  privateAddressesOfDemo,
  serialNumbers,
  trustedProxies,
  plainConnections,
  developerRights,
  signUpMails,
  requestBodies,
  storedTexts,
  hardening,
  demoCertificate,
  foreignIdentifiers,
];
