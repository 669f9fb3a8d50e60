// Loaded by the attacked process before the platform: its lookups go to the name server of the attack.

import dns from 'node:dns/promises';
import { syncBuiltinESMExports } from 'node:module';

const { ATTACK_NAME_SERVER: address = '' } = process.env;

class AttackedResolver extends dns.Resolver {
  constructor(options?: ConstructorParameters<typeof dns.Resolver>[0]) {
    super(options);
    this.setServers([address]);
  }
}

if (address !== '') {
  Object.assign(dns, { Resolver: AttackedResolver });
  syncBuiltinESMExports();
}
