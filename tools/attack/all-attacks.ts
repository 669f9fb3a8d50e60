// Every attack, in the order of its item.
import type { Attack } from './attack.ts';
import { privateAddresses, privateAddressesOfDemo } from './items/private-addresses.ts';

export const allAttacks: readonly Attack[] = [privateAddresses, privateAddressesOfDemo];
