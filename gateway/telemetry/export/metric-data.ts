import { type HrTime, ValueType } from '@opentelemetry/api';
import {
  AggregationTemporality,
  DataPointType,
  type MetricData,
  type MetricDescriptor,
} from '@opentelemetry/sdk-metrics';
import type { MetricObjectWithValues, MetricValue } from 'prom-client';
import { bucketsOf } from '../operation-series.ts';
import type { HistogramData } from '../operation-metrics.ts';

/** Start of all series, and the time of the collection. */
export interface Interval {
  readonly startTime: HrTime;
  readonly endTime: HrTime;
}

type Prometheus = MetricObjectWithValues<MetricValue<string>>;
type Sample = MetricValue<string> & { readonly metricName?: string };

const UNITS: readonly (readonly [suffix: string, unit: string])[] = [
  ['_seconds', 's'],
  ['_bytes', 'By'],
  ['', ''],
];

/** Converts the histograms of operations. */
export const operationData = (metrics: readonly HistogramData[], interval: Interval): MetricData[] =>
  metrics.map(({ name, description, bounds, points }) => ({
    ...CUMULATIVE,
    descriptor: name.includes('.') ? describe(name, 's', description) : described(name, description),
    dataPointType: DataPointType.HISTOGRAM,
    dataPoints: points.map(({ attributes, durations }) => ({
      ...interval,
      attributes,
      value: {
        buckets: { boundaries: [...bounds], counts: bucketsOf(durations, bounds) },
        sum: durations.sumMs / 1_000,
        count: durations.count,
      },
    })),
  }));

/**
 * Converts metrics of Prometheus: those of `server` (`NAMESPACE/NAME`; some have the name only), without that
 * label, and those of the whole process.
 */
export function prometheusData(metrics: readonly Prometheus[], server: string, interval: Interval): MetricData[] {
  return metrics.flatMap((metric): MetricData[] => {
    const samples = (metric.values as readonly Sample[]).flatMap((sample): Sample[] => {
      const { server: owner, ...labels } = sample.labels as Record<string, string | number>;
      return owner === undefined || `/${server}`.endsWith(`/${String(owner)}`) ? [{ ...sample, labels }] : [];
    });
    if (samples.length === 0) return [];
    const descriptor = described(metric.name, metric.help);
    // typed as an enumeration, written as a word
    switch (String(metric.type)) {
      case 'counter':
        return [
          {
            ...CUMULATIVE,
            descriptor,
            dataPointType: DataPointType.SUM,
            isMonotonic: true,
            dataPoints: points(samples, interval),
          },
        ];
      case 'gauge':
        return [
          { ...CUMULATIVE, descriptor, dataPointType: DataPointType.GAUGE, dataPoints: points(samples, interval) },
        ];
      case 'histogram':
        return [
          {
            ...CUMULATIVE,
            descriptor,
            dataPointType: DataPointType.HISTOGRAM,
            dataPoints: histograms(samples, interval),
          },
        ];
      default:
        return [];
    }
  });
}

const CUMULATIVE = { aggregationTemporality: AggregationTemporality.CUMULATIVE };

const describe = (name: string, unit: string, description: string): MetricDescriptor => ({
  name,
  unit,
  description,
  valueType: ValueType.DOUBLE,
});

/** Moves the unit out of the name, from which a collector makes the name in Prometheus again. */
function described(name: string, description: string): MetricDescriptor {
  const base = name.replace(/_total$/u, '');
  const [suffix, unit] = UNITS.find(([end]) => base.endsWith(end)) ?? ['', ''];
  return describe(base.slice(0, base.length - suffix.length), unit, description);
}

const points = (samples: readonly Sample[], interval: Interval) =>
  samples.map(({ labels, value }) => ({ ...interval, attributes: labels as Record<string, string | number>, value }));

function histograms(samples: readonly Sample[], interval: Interval) {
  const series = new Map<
    string,
    { labels: Record<string, string | number>; below: [number, number][]; sum: number; count: number }
  >();
  for (const { labels, value, metricName = '' } of samples) {
    const { le, ...own } = labels as Record<string, string | number>;
    const key = JSON.stringify(Object.entries(own).toSorted(([a], [b]) => (a < b ? -1 : 1)));
    const one = series.get(key) ?? { labels: own, below: [], sum: 0, count: 0 };
    series.set(key, one);
    if (metricName.endsWith('_sum')) one.sum = value;
    else if (metricName.endsWith('_count')) one.count = value;
    else if (le !== undefined && le !== '+Inf') one.below.push([Number(le), value]);
  }
  return [...series.values()].map(({ labels, below, sum, count }) => {
    const sorted = below.toSorted(([a], [b]) => a - b);
    const upTo = [...sorted.map(([, value]) => value), count];
    const counts = upTo.map((value, index) => value - (upTo[index - 1] ?? 0));
    const value = { buckets: { boundaries: sorted.map(([bound]) => bound), counts }, sum, count };
    return { ...interval, attributes: labels, value };
  });
}
