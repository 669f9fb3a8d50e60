// The chip data of a sale as separate data objects, for tests that change it.

const defaultObjects = {
  '5F34': '01',
  '84': 'A0000000041010',
  '82': '1980',
  '9A': '261121',
  '9C': '00',
  '5F2A': '0978',
  '9F02': '000000001234',
  '9F03': '000000000000',
  '9F1A': '0250',
  '9F26': '1122334455667788',
  '9F27': '80',
  '9F10': '06010A03A00000',
  '9F33': 'E0F8C8',
  '9F34': '420300',
  '9F36': '0001',
  '95': '0000008000',
  '9F37': 'AABBCCDD',
};

/** Encodes objects of less than 128 bytes as BER-TLV in hex. */
export function encodeTlv(objects: Readonly<Record<string, string | undefined>>): string {
  return Object.entries(objects)
    .filter((entry): entry is [string, string] => entry[1] !== undefined)
    .map(([tag, value]) => tag + (value.length / 2).toString(16).padStart(2, '0') + value)
    .join('');
}

/** The data of a chip sale of 12.34 EUR with a card; the caller can change or omit objects. */
export function chipData(
  pan = '5413330089010012',
  objects: Readonly<Record<string, string | undefined>> = {},
): string {
  const track = `${pan}D30122010000000000`;
  return encodeTlv({
    '57': track.length % 2 === 0 ? track : `${track}F`,
    ...defaultObjects,
    ...objects,
  });
}
