// Reads the text of one setting into its value; a fault is thrown as the sentence that the operator reads.

/** Thrown by a reader: `message` completes "SWITCHYARD_X …" and never holds the value of a secret. */
export class ValueFault extends Error {
  override name = 'ValueFault';
}

export type Reader<Value> = { type: string; read(text: string): Value };

export function choice<const Values extends readonly string[]>(
  ...values: Values
): Reader<Values[number]> {
  return {
    type: values.join(' | '),
    read(text) {
      const found = values.find((value) => value === text);
      if (found === undefined)
        throw new ValueFault(`is "${text}", not one of ${values.join(', ')}`);
      return found;
    },
  };
}

export function choices<const Values extends readonly string[]>(
  ...values: Values
): Reader<ReadonlySet<Values[number]>> {
  const one = choice(...values);
  return {
    type: `any of ${values.join(' ')}, separated by spaces or commas`,
    read: (text) => new Set(listed(text).map((part) => one.read(part))),
  };
}

export function integer(least: number, most: number): Reader<number> {
  return {
    type: `whole number, ${least} to ${most}`,
    read(text) {
      const value = /^\d{1,15}$/.test(text) ? Number(text) : Number.NaN;
      if (value >= least && value <= most) return value;
      throw new ValueFault(`is "${text}", not a whole number from ${least} to ${most}`);
    },
  };
}

export function text(type: string, pattern: RegExp): Reader<string> {
  return {
    type,
    read(value) {
      if (pattern.test(value)) return value;
      throw new ValueFault(`is "${value}", not a ${type}`);
    },
  };
}

export const filePath: Reader<string> = { type: 'path', read: (value) => value };

/** The address of one of our listeners as clients see it, without a slash at its end. */
export const publicUrl: Reader<string> = {
  type: 'https URL',
  read(value) {
    const url = URL.canParse(value) ? new URL(value) : undefined;
    if (url?.protocol !== 'https:') throw new ValueFault(`is "${value}", not an https URL`);
    if (url.username !== '' || url.search !== '' || url.hash !== '') {
      throw new ValueFault('must be an https URL without user, query and fragment');
    }
    return url.href.replace(/\/+$/, '');
  },
};

/** For addresses that may hold a password: the fault does not repeat them. */
export function secretUrl(...protocols: readonly string[]): Reader<string> {
  return {
    type: `URL (${protocols.join(', ')})`,
    read(value) {
      const known = protocols.some((protocol) => value.startsWith(`${protocol}://`));
      if (known && URL.canParse(value)) return value;
      throw new ValueFault(`is not a URL that starts with ${protocols.join(':// or ')}://`);
    },
  };
}

/** The mail server: `smtps://` speaks TLS from the start, `smtp://` begins it. */
export const smtpServer: Reader<string> = {
  type: 'URL (smtp, smtps)',
  read(value) {
    const address = secretUrl('smtp', 'smtps').read(value);
    const { hostname, username, password, pathname, search } = new URL(address);
    if (hostname === '') throw new ValueFault('names no host');
    if (pathname.length > 1 || search !== '') throw new ValueFault('has more than host and user');
    try {
      decodeURIComponent(username + password);
    } catch {
      throw new ValueFault('has a user or password that is not percent-encoded');
    }
    return address;
  },
};

/** @param kind - of one of them, as its reader's fault says it */
export function several<Value>(
  kind: string,
  most: number,
  read: (part: string) => Value,
): Reader<readonly Value[]> {
  return {
    type: `${kind}, several separated by spaces or commas`,
    read(value) {
      const parts = listed(value);
      if (parts.length > most) throw new ValueFault(`holds more than ${most}`);
      return parts.map(read);
    },
  };
}

export function listed(value: string): string[] {
  const parts = value.split(/[\s,]+/).filter((part) => part !== '');
  if (parts.length === 0) throw new ValueFault('is empty');
  return parts;
}
