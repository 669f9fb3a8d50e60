// Every attack, in the order in which they run.
import type { Attack } from './attack.ts';
import { developerRightsAttack } from './items/developer-rights.ts';
import { foreignIdentifiersAttack } from './items/foreign-identifiers.ts';
import { demoCertificateAttack, hardeningAttack } from './items/hardening.ts';
import { plainConnectionSettingsAttack } from './items/plain-connection-settings.ts';
import { privateAddressesAttack, privateAddressesInDemoAttack } from './items/private-addresses.ts';
import { requestBodiesAttack } from './items/request-bodies.ts';
import { serialNumbersAttack } from './items/serial-numbers.ts';
import { signUpMailsAttack } from './items/sign-up-mails.ts';
import { storedTextsAttack } from './items/stored-texts.ts';
import { trustedProxiesAttack } from './items/trusted-proxies.ts';

export const allAttacks: readonly Attack[] = [
  privateAddressesAttack,
  privateAddressesInDemoAttack,
  serialNumbersAttack,
  trustedProxiesAttack,
  plainConnectionSettingsAttack,
  developerRightsAttack,
  signUpMailsAttack,
  requestBodiesAttack,
  storedTextsAttack,
  hardeningAttack,
  demoCertificateAttack,
  foreignIdentifiersAttack,
];
