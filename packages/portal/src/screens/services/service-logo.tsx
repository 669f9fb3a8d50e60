/** The logo of a service, or its first letter. */
import type { Service } from '@switchyard/contract';

export function ServiceLogo({
  service: { name, logo },
  size = 40,
}: {
  readonly service: Pick<Service, 'name' | 'logo'>;
  readonly size?: number;
}) {
  const box = { width: size, height: size };
  if (logo !== undefined) {
    const source = `data:${logo.mediaType};base64,${logo.data}`;
    return <img className="sy-service-mark" src={source} alt="" style={box} />;
  }
  const [letter = ''] = name.trim();
  return (
    <span className="sy-service-mark" style={box} aria-hidden="true">
      {letter.toUpperCase()}
    </span>
  );
}
