/** Reads the file of a service's logo. */
import type { Service } from '@switchyard/contract';

export type Logo = Service['logo'];

export const maxLogoBytes = 48 * 1024;
export const logoTypes = ['image/png', 'image/jpeg', 'image/webp'] as const;

/** Returns undefined if the catalogue does not accept the file as a logo. */
export async function readLogo(file: File): Promise<Logo> {
  const mediaType = logoTypes.find((type) => type === file.type);
  if (mediaType === undefined || file.size > maxLogoBytes) return undefined;
  const bytes = new Uint8Array(await file.arrayBuffer());
  return { mediaType, data: btoa(Array.from(bytes, (byte) => String.fromCharCode(byte)).join('')) };
}
