/** The signature field for finger, mouse or keyboard. The signature stays in the page. */
import { type PointerEvent, useRef, useState } from 'react';
import { useTranslate } from '../../../locales/index.ts';

type Point = readonly [x: number, y: number];

const width = 240;
const height = 90;
const pointsMost = 2_000;

export function SignaturePad({ onSign }: { readonly onSign: () => void }) {
  const t = useTranslate('virtual-terminal');
  const [strokes, setStrokes] = useState<readonly (readonly Point[])[]>([]);
  const isDrawing = useRef(false);

  function pointOf({ currentTarget, clientX, clientY }: PointerEvent<SVGSVGElement>): Point {
    const box = currentTarget.getBoundingClientRect();
    return [
      Math.round(((clientX - box.left) / box.width) * width),
      Math.round(((clientY - box.top) / box.height) * height),
    ];
  }

  function begin(event: PointerEvent<SVGSVGElement>): void {
    isDrawing.current = true;
    event.currentTarget.setPointerCapture(event.pointerId);
    setStrokes([...strokes, [pointOf(event)]]);
  }

  function go(event: PointerEvent<SVGSVGElement>): void {
    if (!isDrawing.current || strokes.flat().length > pointsMost) return;
    setStrokes([...strokes.slice(0, -1), [...(strokes.at(-1) ?? []), pointOf(event)]]);
  }

  return (
    <div className="sy-pos-sign">
      <svg
        viewBox={`0 0 ${width} ${height}`}
        role="img"
        aria-label={t('nexo.screen.signHere')}
        onPointerDown={begin}
        onPointerMove={go}
        onPointerUp={() => {
          isDrawing.current = false;
        }}
      >
        <line x1="12" y1="72" x2={width - 12} y2="72" />
        {strokes.map((points, at) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: strokes in the order in which they were drawn
          <polyline key={at} points={points.map((point) => point.join(',')).join(' ')} />
        ))}
      </svg>
      <button type="button" onClick={onSign}>
        {t('nexo.screen.sign')}
      </button>
    </div>
  );
}
